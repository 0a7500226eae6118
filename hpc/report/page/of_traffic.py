"""Pictures of what ranks send each other: by pair of ranks, by layer, against random. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from hpc.report.page.charts import Axis, Column, Heat, Lines, Picture, Series, Table, Value
from hpc.report.page.run_data import RunData

MOST_CELLS = 32
"""Rows and columns of a heat map at most: of more ranks, neighbours share a cell."""
MOST_IN_TABLE = 16
"""Ranks up to which the table has every pair; above, what each rank sends and receives."""


def traffic_pictures(run: RunData) -> Iterator[Picture]:
    """Yield the pictures that the run has numbers for.

    Parameters
    ----------
    run : RunData
        What is known of the run.

    Yields
    ------
    Picture
        Words by pair of ranks, words and messages by layer.
    """
    traffic = run.traffic
    if traffic is None:
        return
    pairs = traffic.get("pairs") or []
    if any(map(any, pairs)):
        yield _pairs(pairs, str(traffic.get("unit", "words")))
    layers = traffic.get("layers")
    if layers and any(layers["words"]):
        yield _layers(layers, "words", "Volume of every layer", "words per input")
        yield _layers(layers, "messages", "Messages of every layer", "messages per batch")


def _pairs(pairs: Sequence[Sequence[float]], unit: str) -> Picture:
    n_ranks = len(pairs)
    step = -(-n_ranks // MOST_CELLS)
    merged = f" Each cell is the sum of {step} x {step} ranks." if step > 1 else ""
    return Picture(
        "pairs",
        "Who sends how much to whom",
        f"{unit.capitalize()}, forward, as planned.{merged}",
        _pairs_table(pairs, unit),
        Heat(Axis("sender"), Axis("receiver"), _in_cells(pairs, step), unit, step),
    )


def _pairs_table(pairs: Sequence[Sequence[float]], unit: str) -> Table:
    ranks = range(len(pairs))
    if len(ranks) <= MOST_IN_TABLE:
        columns = (Column("from \\ to"), *(Column(str(rank), form=",d") for rank in ranks))
        rows: tuple[tuple[Value, ...], ...] = tuple((str(r), *row) for r, row in enumerate(pairs))
        return Table(columns, rows)
    received = [sum(column) for column in zip(*pairs, strict=True)]
    return Table(
        (Column("rank", form="d"), Column("sends", unit, ",d"), Column("receives", unit, ",d")),
        tuple((rank, sum(pairs[rank]), received[rank]) for rank in ranks),
    )


def _in_cells(pairs: Sequence[Sequence[float]], step: int) -> tuple[tuple[float, ...], ...]:
    """Return the sums of step x step entries."""
    starts = range(0, len(pairs), step)
    return tuple(
        tuple(sum(sum(row[c : c + step]) for row in pairs[r : r + step]) for c in starts)
        for r in starts
    )


def _layers(layers: dict[str, Any], field: str, title: str, unit: str) -> Picture:
    ours, random = layers[field], layers.get(f"random_{field}")
    numbers = range(1, len(ours) + 1)
    series = [Series("this plan", tuple(zip(numbers, map(float, ours), strict=True)), 0)]
    columns = [Column("layer", form="d"), Column("this plan", form=",d")]
    parts: list[Sequence[float]] = [ours]
    if random is not None:
        series.append(
            Series("random plan", tuple(zip(numbers, map(float, random), strict=True)), 1)
        )
        columns.append(Column("random plan", form=",d"))
        parts.append(random)
    rows: list[tuple[Value, ...]] = [
        (number, *(part[number - 1] for part in parts)) for number in numbers
    ]
    rows.append(("all", *map(sum, parts)))
    against = "" if random is not None else " No plan file was given: a random plan is not known."
    return Picture(
        field,
        title,
        f"Of all ranks together, forward, as planned.{against}",
        Table(tuple(columns), tuple(rows)),
        Lines(Axis("layer"), Axis(unit), tuple(series), marks=len(ours) <= 40, whole=True),
    )
