"""The method `hypergraph`: plans made in several ways, the cheapest by the objective, refined.

One of the candidates is always the plan of least volume, so that no objective
makes a plan that is worse by its own measure.
"""

from __future__ import annotations

import numpy as np

from hpc.io.ownership import block_owners
from partition.ahead import OnLayer, first_pass, searched
from partition.asked import Asked
from partition.choice import Levels, cheapest
from partition.layer_cut import LayerCut
from partition.objective import Messages, Objective, Time, Volume
from partition.patterns import Patterns
from partition.refine import SHORT, refined
from partition.two_level import node_levels


def hypergraph_levels(asked: Asked, patterns: Patterns, on_layer: OnLayer) -> Levels:
    """Return the owners of every level at the least cost that was found.

    Parameters
    ----------
    asked : Asked
        What is wanted, checked.
    patterns : Patterns
        The network's layers.
    on_layer : callable
        Called `passes(asked)` times for each layer.

    Returns
    -------
    list of (n_k,) int32 arrays
        Levels 0..L.

    Raises
    ------
    InputError : a partitioner that is not installed.
    """
    if asked.parts == 1:
        for _ in range(len(patterns)):
            on_layer()
        return [np.zeros(n, np.int32) for n in patterns.sizes]
    cut = LayerCut(asked)
    first = first_pass(cut, patterns, on_layer)
    volume = searched(asked, cut, patterns, first, Volume(), on_layer)
    if asked.tiered:
        return node_levels(asked, cut, patterns, volume, on_layer)
    if asked.objective == "volume":
        return volume
    objective = objective_of(asked)
    candidates = [volume, searched(asked, cut, patterns, first, objective, on_layer)]
    candidates.append([block_owners(n, asked.parts) for n in patterns.sizes])
    best = cheapest(objective, cut, patterns, candidates, on_layer)
    starts = [volume, best]
    ends = [
        refined(objective, patterns, start, cut.limits, asked.parts, on_layer) for start in starts
    ]
    return cheapest(objective, cut, patterns, [*starts, *ends], on_layer)


def passes(asked: Asked) -> int:
    """Return how often `hypergraph_levels` goes over the layers.

    Parameters
    ----------
    asked : Asked
        What is wanted, checked.

    Returns
    -------
    int
        Times that each layer is reported.
    """
    if asked.parts == 1:
        return 1
    searches = int(asked.window > 1)
    if asked.tiered:
        return 2 * (1 + searches) + len(SHORT) + 3
    return 1 + searches + (asked.objective != "volume") * (searches + 2 * len(SHORT) + 2)


def objective_of(asked: Asked) -> Objective:
    """Return the objective that is asked for.

    Parameters
    ----------
    asked : Asked
        What is wanted, checked.

    Returns
    -------
    Objective
        `Messages`, `Time` where there are costs, else `Volume` at one price for all words.
    """
    if asked.objective == "messages":
        return Messages()
    if asked.costs is not None:
        return Time(asked.costs, asked.batch)
    return Volume()
