"""Which time of a run is which: the one at the head of the page, and what the bars have besides."""

from __future__ import annotations

from typing import NamedTuple

from hpc.report.durations import precise
from hpc.report.page.run_data import RunData
from hpc.report.page.work_kinds import kinds_of

APART = ("read", "validate")
"""Kinds of work that are parts of the bars of ranks, but not of `seconds`."""


class WholeTime(NamedTuple):
    """name, covers : in words. seconds : exact."""

    name: str
    seconds: float
    covers: str


NAMES = {
    "spdnn infer": ("inference", "slowest rank, without reading files"),
    "spdnn train": ("training steps", "slowest rank of each epoch, without validation"),
    "pipebd train": ("training steps", "slowest rank, without validation"),
}
"""What `seconds` of a command's figures is."""
OF_OTHERS = ("training", "first rank, validation included")
OF_COMMANDS = ("whole command", "first rank, start and end included")
"""What a run's own `seconds` is, where it has no figures."""


def whole_time(run: RunData) -> WholeTime | None:
    """Return the time of a run that its page begins with.

    Parameters
    ----------
    run : whose figures have `seconds`, or which has ended.

    Returns
    -------
    The time in seconds with what it is of; None where it is not known.
    """
    if "seconds" in run.figures:
        name, covers = NAMES.get(run.command, OF_OTHERS)
        return WholeTime(name, run.figures["seconds"], covers)
    if "seconds" in run.about:
        name, covers = OF_COMMANDS
        return WholeTime(name, run.about["seconds"], covers)
    return None


def bars_against(run: RunData) -> str:
    """Return what the bars of the ranks show that the time of the page's head does not count.

    Parameters
    ----------
    run : with seconds of every rank.

    Returns
    -------
    Sentences; '' where that time is not known.
    """
    found = whole_time(run)
    if found is None:
        return ""
    apart = [f"'{kind}'" for kind in APART if kind in kinds_of(run.figures)]
    stand = "stands" if len(apart) == 1 else "stand"
    here = f"; {' and '.join(apart)} {stand} only here" if apart else ""
    text = f"'{found.name}' above, {precise(found.seconds)}, is of the {found.covers}{here}."
    before = run.figures.get("steps_before", 0)
    return f"{text} The bars begin after step {before}, at a checkpoint." if before else text
