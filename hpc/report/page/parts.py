"""Which parts the folder of a run should have, and what is said where one is not there. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from hpc.report.run_folder import CONFIG, FIGURES, LOG, TRACE, TRAFFIC

ABSENT = {
    FIGURES: "no times, no predictions",
    LOG: "no losses, rates and waiting by step",
    TRAFFIC: "nothing on who sends what to whom",
    TRACE: "no timeline",
    CONFIG: "nothing for --config to take back",
}
"""Parts, and what a page lacks without them."""
ALWAYS = (FIGURES, LOG, CONFIG)
OF_COMMANDS = {
    "spdnn infer": (TRAFFIC,),
    "spdnn train": (TRAFFIC,),
    "pipebd train": (TRAFFIC, TRACE),
}
"""What else the runs of a command keep."""
RELAY_NOTHING = ("dp", "ls")
"""Schedules without traffic."""


class Note(NamedTuple):
    """On a part of a run. why : it is not on the page, or not all of it."""

    file: str
    why: str


def expected(about: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parts that the folder of a run should have.

    Parameters
    ----------
    about : what was run.

    Returns
    -------
    Names of files.
    """
    found = (*ALWAYS, *OF_COMMANDS.get(str(about.get("command")), ()))
    nothing = about.get("options", {}).get("schedule") in RELAY_NOTHING
    return tuple(name for name in found if not (nothing and name == TRAFFIC))


def missing(path: Path, about: Mapping[str, Any]) -> Note:
    """Return the note on a part that is not there.

    Parameters
    ----------
    path : of the file.
    about : what was run; how it ended says why the part may be missing.

    Returns
    -------
    The note.
    """
    status = about.get("status", "unknown")
    why = {"done": "", "running": ": the run has not ended, as far as is known"}
    ended = why.get(status, f": the run ended as '{status}'")
    return Note(str(path), f"missing{ended}; {ABSENT[path.name]}")
