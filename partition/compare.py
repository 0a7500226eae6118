"""Plans of one network for several numbers of ranks, against random ones. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.table import Table

from hpc.io.halo import Longs, Traffic
from hpc.io.plan import Plan
from partition.stats import costs_of


@dataclass(frozen=True)
class Row:
    """One number of ranks.

    traffic, random : of the plan and of a random one. seconds : it took to cut.
    """

    parts: int
    traffic: Traffic
    random: Traffic
    seconds: float


def row_of(plan: Plan, seconds: float) -> Row:
    """Return the row of a plan that `build_plan` made.

    Parameters
    ----------
    plan : with its traffic, and a random plan's.
    seconds : that it took.

    Returns
    -------
    The row.
    """
    costs = costs_of(plan, "plan")
    return Row(plan.parts, costs.traffic, costs.random, seconds)


def comparison_figures(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the figures of every row, by name: lists over the numbers of ranks.

    Parameters
    ----------
    rows : one per number of ranks.

    Returns
    -------
    Plain data.
    """
    columns: dict[str, list[Any]] = {
        "parts": [row.parts for row in rows],
        "seconds": [row.seconds for row in rows],
        "imbalance": [float(row.traffic.imbalance.max()) for row in rows],
        "random_imbalance": [float(row.random.imbalance.max()) for row in rows],
    }
    for name in ("words", "messages"):
        for prefix, which in (("", "traffic"), ("random_", "random")):
            sent = [_sent(getattr(row, which), name) for row in rows]
            columns[f"{prefix}{name}_average"] = [float(one.mean()) for one in sent]
            columns[f"{prefix}{name}_maximum"] = [int(one.max()) for one in sent]
    return columns


def comparison_table(rows: Sequence[Row]) -> Table:
    """Return the paper's Table 1: per P the ratio, then the values of either plan.

    Parameters
    ----------
    rows : one per number of ranks.

    Returns
    -------
    The table, to be printed.
    """
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in (
        "P",
        "plan",
        "words\naverage",
        "words\nmaximum",
        "messages\naverage",
        "messages\nmaximum",
        "imbalance\nof weights",
        "seconds\nto cut",
    ):
        table.add_column(name, justify="left" if name == "plan" else "right", no_wrap=True)
    for row in rows:
        pairs = [
            (_measures(row.traffic, name), _measures(row.random, name))
            for name in ("words", "messages")
        ]
        ratios = [_ratio(a, b) for ours, theirs in pairs for a, b in zip(ours, theirs, strict=True)]
        table.add_row(str(row.parts), "hypergraph / random", *ratios, "", "")
        for at, (title, traffic) in enumerate(
            (("hypergraph", row.traffic), ("random", row.random))
        ):
            values = [f"{value:,.1f}" for pair in pairs for value in pair[at]]
            seconds = f"{row.seconds:.1f}" if title == "hypergraph" else ""
            table.add_row("", title, *values, f"{traffic.imbalance.max():.4f}", seconds)
    return table


def _sent(traffic: Traffic, name: str) -> Longs:
    sent: Longs = getattr(traffic, name).sum(axis=0)
    return sent


def _measures(traffic: Traffic, name: str) -> tuple[float, float]:
    """Return the average and the maximum over ranks."""
    sent = _sent(traffic, name)
    return float(sent.mean()), float(sent.max())


def _ratio(ours: float, theirs: float) -> str:
    return f"{ours / theirs:.3f}" if theirs and np.isfinite(theirs) else "-"
