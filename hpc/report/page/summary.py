"""What a run was, in words: the head of its page. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from hpc.report.durations import duration, precise
from hpc.report.figures import quantity
from hpc.report.page.of_training import epochs_of
from hpc.report.page.run_data import RunData
from hpc.report.page.whole_time import whole_time
from hpc.report.page.work_kinds import WAITING, kinds_of

LINE = "command line"
"""Name of the row that has it."""


class Tile(NamedTuple):
    """A number that people look for first.

    value, unit : exact, as the figures have it. shown : for people, with a unit of its own where
    it has any. covers : what it is of.
    """

    name: str
    value: float
    unit: str
    shown: str
    covers: str = ""


def tiles(run: RunData) -> list[Tile]:
    """Return the numbers that people look for first.

    Parameters
    ----------
    run : of which little need be known.

    Returns
    -------
    As many as are known.
    """
    return list(_tiles(run))


def _tiles(run: RunData) -> Iterator[Tile]:
    figures, about = run.figures, run.about
    ranks = about.get("ranks")
    if ranks is not None:
        yield Tile("ranks", ranks, "", str(ranks), f"on {len(set(about.get('hosts', ())))} host(s)")
    time = whole_time(run)
    if time is not None:
        yield Tile(time.name, time.seconds, "s", precise(time.seconds), time.covers)
    for name, unit in (("edges_per_s", "edges/s"), ("images_per_s", "images/s")):
        if name in figures and time is not None:
            value = figures[name]
            yield Tile("rate", value, unit, quantity(value, unit), f"of '{time.name}'")
    if figures.get("step_s"):
        shown = f"{1e3 * figures['step_s']:.2f} ms"
        yield Tile("step", figures["step_s"], "s", shown, "mean of the whole run, no validation")
    yield from _of_epochs(epochs_of(run))
    share = waiting_share(figures)
    if share is not None:
        covers = "all ranks, whole run: the grey of their bars"
        yield Tile("waiting", share, "share", f"{100 * share:.1f} %", covers)


def _of_epochs(epochs: list[dict[str, Any]]) -> Iterator[Tile]:
    last = epochs[-1] if epochs else {}
    covers = f"epoch {last.get('epoch')}"
    if last.get("loss") is not None:
        yield Tile("loss", last["loss"], "", f"{last['loss']:.4g}", covers)
    for name in ("validation_accuracy", "accuracy"):
        if last.get(name) is not None:
            shown = f"{100 * last[name]:.2f} %"
            yield Tile(name.replace("_", " "), last[name], "share", shown, covers)
            return


def waiting_share(figures: dict[str, Any]) -> float | None:
    """Return the share of all ranks' time that was spent waiting.

    Parameters
    ----------
    figures : dict of str to Any
        Of the run.

    Returns
    -------
    float or None
        In [0, 1]; None where it is not known.
    """
    seconds = kinds_of(figures)
    total = sum(map(sum, seconds.values()))
    if not total:
        return None
    return float(sum(sum(seconds.get(kind, ())) for kind in WAITING) / total)


def about_rows(run: RunData) -> list[tuple[str, str]]:
    """Return what was run, on what, and how it ended.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Returns
    -------
    list of (str, str)
        Name and value; those that are known.
    """
    about = run.about
    hosts: Counter[str] = Counter(about.get("hosts", ()))
    shown = ", ".join(f"{host} ({n} rank{'s' * (n > 1)})" for host, n in list(hosts.items())[:16])
    more = f" and {len(hosts) - 16} more" if len(hosts) > 16 else ""
    took = about.get("seconds")
    rows = [
        (LINE, f"mpirun -n {about.get('ranks', '?')} {about.get('line', '?')}"),
        ("began", about.get("started")),
        ("whole command took", None if took is None else duration(took)),
        ("ended", about.get("ended")),
        ("exit code", about.get("code")),
        ("why", about.get("why")),
        ("hosts", shown + more if shown else None),
        ("MPI", about.get("mpi")),
        *about.get("versions", {}).items(),
        ("commit", about.get("commit")),
        *_of_figures(run.figures),
    ]
    return [(name, str(value)) for name, value in rows if value is not None]


def _of_figures(figures: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield figures that are one word or number and that no picture has."""
    skipped = ("command", "ranks", "seconds", "edges_per_s", "images_per_s", "step_s")
    for name, value in figures.items():
        if name not in skipped and isinstance(value, str | int | float | bool):
            text = f"{value:.6g}" if isinstance(value, float) else value
            yield name.replace("_", " "), text


def options_rows(run: RunData) -> list[tuple[str, str]]:
    """Return the options in force; those that are not set are left out.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Returns
    -------
    list of (str, str)
        Name, without dashes in front, and value.
    """
    options = run.about.get("options", {})
    return [
        (name.removesuffix("_folder").replace("_", "-"), str(value))
        for name, value in options.items()
        if value is not None and value is not False
    ]
