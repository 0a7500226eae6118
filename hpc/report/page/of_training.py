"""Pictures of how a run went: loss, accuracy, rate and waiting. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from hpc.report.page.charts import Axis, Column, Lines, Picture, Series, Table
from hpc.report.page.run_data import RunData
from hpc.report.page.ticks import LEAST

Epochs = Sequence[dict[str, Any]]
LOG_FROM = 20
"""From this ratio of the largest to the smallest value on an axis is logarithmic."""
LOSSES = (("loss", "training"), ("validation_loss", "validation"))
ACCURACIES = (
    ("accuracy", "training"),
    ("validation_accuracy", "validation"),
    ("teacher_accuracy", "teacher"),
)


def training_pictures(run: RunData) -> Iterator[Picture]:
    """Yield the pictures that the run has numbers for.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Yields
    ------
    Picture
        Losses, accuracies, rate and waiting.
    """
    epochs = epochs_of(run)
    yield from _block_losses(epochs)
    yield from _by_epoch(epochs, "loss", "Loss", "mean over the epoch", LOSSES, False)
    yield from _by_epoch(epochs, "accuracy", "Accuracy", "share that is right", _named(run), True)
    yield from _readings(run)


def epochs_of(run: RunData) -> list[dict[str, Any]]:
    """Return the epochs as the log has them, the last word on each; else as the figures do.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Returns
    -------
    list of dict of str to Any
        By ascending `epoch`, from 1; empty where there are none.
    """
    found = {
        event["epoch"]: event
        for event in run.events
        if event.get("event") == "epoch" and isinstance(event.get("epoch"), int)
    }
    history = run.figures.get("history") or []
    for number, epoch in enumerate(history, 1):  # those before a checkpoint are in the figures
        found.setdefault(number, {**epoch, "epoch": number})
    return [found[number] for number in sorted(found)]


def _named(run: RunData) -> Sequence[tuple[str, str]]:
    """Return the accuracies with their names: an engine's own is of other images than another's."""
    if run.command == "spdnn train":
        return ACCURACIES
    own = "student" if run.command == "pipebd train" else "validation"
    return (("accuracy", own), ACCURACIES[2])


def _by_epoch(
    epochs: Epochs,
    name: str,
    title: str,
    what: str,
    fields: Sequence[tuple[str, str]],
    percent: bool,
) -> Iterator[Picture]:
    known = [(f, t) for f, t in fields if any(_number(e.get(f)) is not None for e in epochs)]
    if not known:
        return
    series = tuple(
        Series(text, _points((e["epoch"], e.get(field)) for e in epochs), colour)
        for colour, (field, text) in enumerate(known)
    )
    form = ".2%" if percent else "#.4g"
    columns = (Column("epoch", form="d"), *(Column(text, form=form) for _, text in known))
    rows = tuple((e["epoch"], *(_number(e.get(field)) for field, _ in known)) for e in epochs)
    axis = Axis(name, percent=percent, log=not percent and _wide(series))
    yield Picture(
        name,
        title,
        f"By epoch; {what}.",
        Table(columns, rows),
        Lines(Axis("epoch"), axis, series, marks=len(epochs) <= 40, whole=True),
    )


def _block_losses(epochs: Epochs) -> Iterator[Picture]:
    """Yield the losses of all blocks by epoch."""
    kept = [e for e in epochs if e.get("losses")]
    blocks = range(len(kept[0]["losses"]) if kept else 0)
    every = (
        Series(f"block {b}", _points((e["epoch"], e["losses"][b]) for e in kept), b) for b in blocks
    )
    series = tuple(one for one in every if one.points)
    if not series:
        return
    columns = (Column("epoch", form="d"), *(Column(f"block {b}", form="#.4g") for b in blocks))
    rows = tuple((e["epoch"], *map(_number, e["losses"])) for e in kept)
    chart = Lines(
        Axis("epoch"),
        Axis("loss", log=_wide(series)),
        series,
        marks=len(kept) <= 40,
        whole=True,
    )
    yield Picture(
        "block-losses",
        "Loss of every block",
        "By epoch; mean over the epoch. Each block learns to give what its teacher gives.",
        Table(columns, rows),
        chart,
    )


def readings_of(run: RunData) -> list[dict[str, Any]]:
    """Return the readings of the run's main stretch, the last kind of work in the log.

    Where it went on from a checkpoint, those after it that were thrown away are left out.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Returns
    -------
    list of dict of str to Any
        Events 'progress', `step` ascending.
    """
    found = [event for event in run.events if event.get("event") == "progress"]
    kept: list[dict[str, Any]] = []
    for event in found:
        if event.get("what") == found[-1].get("what"):
            while kept and kept[-1]["step"] >= event["step"]:
                kept.pop()
            kept.append(event)
    return kept


def _readings(run: RunData) -> Iterator[Picture]:
    found = [event for event in readings_of(run) if event.get("step")]
    if len(found) < 2:
        return
    done = "inputs" if run.command == "spdnn infer" else "step"
    loss = Series("loss", _points((e["step"], e.get("loss")) for e in found), 0)
    if len(loss.points) > 1:
        columns = (Column(done, form=",d"), Column("loss", form="#.4g"))
        rows = tuple((e["step"], _number(e.get("loss"))) for e in found)
        yield Picture(
            "step-loss",
            "Loss by step",
            "Of single steps, as the first rank saw them while it ran.",
            Table(columns, rows),
            Lines(Axis(done), Axis("loss", log=_wide([loss])), (loss,), whole=True),
        )
    if any(_number(e.get("rate")) is not None for e in found):
        yield _rate(found, done)
    if any(_number(e.get("wait")) is not None for e in found):
        yield _wait(found, done)


def _rate(found: Epochs, done: str) -> Picture:
    unit = str(found[-1].get("unit", ""))
    points = _points((e["step"], e.get("rate")) for e in found)
    form = ",.0f" if max((y for _, y in points), default=0.0) >= 100 else ",.3f"
    return Picture(
        "rate",
        "Rate",
        "Between two readings of the log.",
        Table(
            (Column(done, form=",d"), Column("rate", unit, form)),
            tuple((e["step"], _number(e.get("rate"))) for e in found),
        ),
        Lines(Axis(done), Axis("rate", unit), (Series("rate", points, 2),), whole=True),
    )


def _wait(found: Epochs, done: str) -> Picture:
    points = _points((e["step"], e.get("wait")) for e in found)
    return Picture(
        "waiting",
        "Share of time waiting",
        "Of the first rank, between two readings of the log.",
        Table(
            (Column(done, form=",d"), Column("waiting", form=".1%")),
            tuple((e["step"], _number(e.get("wait"))) for e in found),
        ),
        Lines(
            Axis(done),
            Axis("waiting", percent=True),
            (Series("waiting", points, 1),),
            whole=True,
        ),
    )


def _number(value: Any) -> float | int | None:
    """Return a number that can be drawn, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        return None
    return value


def _points(pairs: Any) -> tuple[tuple[float, float], ...]:
    found = ((_number(x), _number(y)) for x, y in pairs)
    return tuple((x, y) for x, y in found if x is not None and y is not None)


def _wide(series: Sequence[Series]) -> bool:
    """Return whether a logarithmic axis shows more."""
    values = [y for one in series for _, y in one.points]
    return bool(values) and min(values) > LEAST and max(values) > LOG_FROM * min(values)
