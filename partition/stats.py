"""What a plan costs, as figures and as the paper's Table 1. Pure, but for printing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from hpc.io.errors import InputError
from hpc.io.halo import Traffic
from hpc.io.plan import Plan
from partition.balance import ROUNDING, Shares, imbalance

EDGE_LAYERS = 4
"""Layers shown at either end of a long network."""
TABLE_WIDTH = 84
"""Columns that the table needs."""


@dataclass(frozen=True)
class Costs:
    """A plan, its traffic, and the traffic of a random plan of the same network."""

    plan: Plan
    traffic: Traffic
    random: Traffic

    def imbalance(self, traffic: Traffic) -> Shares:
        """Return how much heavier than its share of the machine a part is, per layer: (L,).

        Parameters
        ----------
        traffic : of a plan.

        Returns
        -------
        (L,) float64: the largest of a layer's loads over its share, less 1.
        """
        weights = self.plan.asked.get("weights") or [1.0] * self.plan.parts
        return imbalance(traffic.edges, np.array(weights) / sum(weights))


def costs_of(plan: Plan, where: str) -> Costs:
    """Return a plan with its traffic.

    Parameters
    ----------
    plan : of a file.
    where : begins the message.

    Returns
    -------
    The plan.

    Raises
    ------
    InputError : the plan holds none (written by other means than `build`).
    """
    if plan.traffic is None or plan.random_traffic is None:
        raise InputError(
            f"{where}: holds no traffic; make the plan with 'python -m partition build'"
        )
    return Costs(plan, plan.traffic, plan.random_traffic)


def figures(costs: Costs) -> dict[str, Any]:
    """Return a plan's figures, forward, for one input.

    Parameters
    ----------
    costs : from `costs_of`.

    Returns
    -------
    volume_words, messages : totals over layers and ranks; random_... of a random plan.
    max_send_words : the largest rank's total over the layers.
    imbalance : the largest of the layers' imbalances (max load / its share - 1).
    words_inside, words_between : of volume_words, those inside and those between nodes; only
        where the plan knows its nodes.
    parts, layers, method, epsilon, seed : what was asked.
    """
    plan, traffic, random = costs.plan, costs.traffic, costs.random
    return {
        "parts": plan.parts,
        "layers": len(traffic.words),
        **{name: plan.asked.get(name) for name in ("method", "epsilon", "seed")},
        "volume_words": int(traffic.words.sum()),
        "random_volume_words": int(random.words.sum()),
        "messages": int(traffic.messages.sum()),
        "random_messages": int(random.messages.sum()),
        "max_send_words": int(traffic.words.sum(axis=0).max()),
        "imbalance": float(costs.imbalance(traffic).max()),
        **node_words(plan),
    }


def node_words(plan: Plan) -> dict[str, int]:
    """Return the words inside and between nodes, by name; nothing if the nodes are not known.

    Parameters
    ----------
    plan : of a file.

    Returns
    -------
    Two numbers, or none.
    """
    if plan.between is None or plan.traffic is None:
        return {}
    between = int(plan.between.sum())
    return {"words_inside": int(plan.traffic.words.sum()) - between, "words_between": between}


def print_table(costs: Costs, console: Console, all_layers: bool = False) -> None:
    """Print the paper's Table 1 for one plan: per layer and in total, and against random.

    Parameters
    ----------
    costs : from `costs_of`.
    console : to print on.
    all_layers : a line for each of them.
    """
    table = _empty_table()
    n_layers = len(costs.traffic.words)
    for k in range(n_layers):
        middle = EDGE_LAYERS <= k < n_layers - EDGE_LAYERS
        if all_layers or n_layers <= 2 * EDGE_LAYERS + 1 or not middle:
            table.add_row(str(k + 1), *_cells(costs, k))
        elif k == EDGE_LAYERS:
            table.add_row(f"{n_layers - 2 * EDGE_LAYERS} more", *["..."] * 8)
    table.add_section()
    table.add_row("total", *_cells(costs))
    console.width = max(console.width, TABLE_WIDTH)
    console.print(_title(costs.plan), highlight=False)
    console.print(table)
    if words := node_words(costs.plan):
        nodes, ranks = costs.plan.asked["nodes"]
        console.print(
            f"{nodes} nodes of {ranks} ranks: {words['words_inside']:,} words per input inside "
            f"nodes, {words['words_between']:,} between",
            highlight=False,
        )
    _print_uneven(costs, console)


def _layer(traffic: Traffic, k: int) -> Traffic:
    return Traffic(traffic.words[[k]], traffic.messages[[k]], traffic.edges[[k]])


def _title(plan: Plan) -> str:
    asked = plan.asked
    wanted = f", epsilon {asked['epsilon']:g}, seed {asked['seed']}" if "seed" in asked else ""
    return (
        f"{asked.get('method', '?')} plan for {plan.parts} ranks{wanted}\n"
        "sent by a rank, forward, for one input; random: the same network cut at random"
    )


def _empty_table() -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for name in (
        "layer",
        "words\naverage",
        "words\nmaximum",
        "random\naverage",
        "words /\nrandom",
        "messages\naverage",
        "messages\nmaximum",
        "random\naverage",
        "imbalance\nof weights",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _cells(costs: Costs, layer: int | None = None) -> list[str]:
    """Return the cells of a layer (0-based), or of them all."""
    traffic, random = costs.traffic, costs.random
    if layer is not None:
        traffic, random = _layer(traffic, layer), _layer(random, layer)
    words, messages = traffic.words.sum(axis=0), traffic.messages.sum(axis=0)
    random_words = random.words.sum(axis=0)
    ratio = words.sum() / random_words.sum() if random_words.any() else np.nan
    return [
        f"{words.mean():,.1f}",
        f"{words.max():,}",
        f"{random_words.mean():,.1f}",
        f"{ratio:.3f}" if np.isfinite(ratio) else "-",
        f"{messages.mean():,.1f}",
        f"{messages.max():,}",
        f"{random.messages.sum(axis=0).mean():,.1f}",
        f"{costs.imbalance(traffic).max():.4f}",
    ]


def _print_uneven(costs: Costs, console: Console) -> None:
    epsilon = costs.plan.asked.get("epsilon", np.inf)
    found = costs.imbalance(costs.traffic)
    uneven = np.flatnonzero(found > epsilon + ROUNDING)
    if len(uneven):
        console.print(
            f"imbalance above {epsilon:g} in {len(uneven)} of {len(found)} layers, "
            f"the first is layer {uneven[0] + 1}"
        )
