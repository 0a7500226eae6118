"""What a run was, in words: the head of its page. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hpc.report.durations import duration
from hpc.report.figures import quantity
from hpc.report.page.of_ranks import WAITING, kinds_of
from hpc.report.page.of_training import epochs_of
from hpc.report.page.run_data import RunData


def tiles(run: RunData) -> list[tuple[str, str, str]]:
    """Return the numbers that people look for first: name, value, unit.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Returns
    -------
    list of (str, str, str)
        Name, value, unit; those that the run has.
    """
    return list(_tiles(run))


def _tiles(run: RunData) -> Iterator[tuple[str, str, str]]:
    figures, about = run.figures, run.about
    ranks = about.get("ranks")
    if ranks is not None:
        yield "ranks", f"{ranks}", f"on {len(set(about.get('hosts', ())))} host(s)"
    seconds = figures.get("seconds", about.get("seconds"))
    if seconds is not None:
        text, unit = duration(seconds).split() if seconds >= 10 else (f"{seconds:.3f}", "s")
        yield "time", text, unit
    for name, unit in (("edges_per_s", "edges/s"), ("images_per_s", "images/s")):
        if name in figures:
            text, unit = quantity(figures[name], unit).split()
            yield "rate", text, unit
    if figures.get("step_s"):
        yield "step", f"{1e3 * figures['step_s']:.2f}", "ms"
    epochs = epochs_of(run)
    if epochs:
        last = epochs[-1]
        if last.get("loss") is not None:
            yield "loss", f"{last['loss']:.4g}", f"epoch {last['epoch']}"
        for name in ("validation_accuracy", "accuracy"):
            if last.get(name) is not None:
                yield name.replace("_", " "), f"{100 * last[name]:.2f}", "%"
                break
    share = waiting_share(figures)
    if share is not None:
        yield "waiting", f"{100 * share:.1f}", "% of the time"


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
        ("command line", f"mpirun -n {about.get('ranks', '?')} {about.get('line', '?')}"),
        ("began", about.get("started")),
        ("took", None if took is None else duration(took)),
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
