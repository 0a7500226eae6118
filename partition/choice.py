"""The cheapest of several plans. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from partition.hypergraph import Blocks
from partition.layer_cut import LayerCut, heaviest_excess, row_weights
from partition.load import layer_load
from partition.objective import Objective
from partition.patterns import Patterns

Levels = list[Blocks]
"""The owners of every level."""


def cheapest(
    objective: Objective,
    cut: LayerCut,
    patterns: Patterns,
    candidates: Sequence[Levels],
    on_layer: Callable[[], None],
) -> Levels:
    """Return the candidate of least cost of those no more uneven, in any layer, than the first.

    Parameters
    ----------
    objective : Objective
        By which they are compared.
    cut : LayerCut
        Has the limits of each layer's balance, and the number of parts.
    patterns : Patterns
        The network's layers; each is read once.
    candidates : sequence of lists of (n_k,) int32 arrays
        Owners of levels 0..L; the first says how uneven others may be; of equal ones the earliest
        is taken.
    on_layer : callable
        Called after each layer, L times.

    Returns
    -------
    list of (n_k,) int32 arrays
        One of the candidates, not a copy.
    """
    costs = np.zeros(len(candidates), object)
    for k in range(len(patterns)):
        pattern = patterns[k]
        limits = cut.limits(row_weights(pattern))
        excess = [heaviest_excess(pattern, levels[k + 1], limits) for levels in candidates]
        for at, levels in enumerate(candidates):
            load = layer_load(pattern, levels[k + 1], levels[k], cut.parts)
            costs[at] += np.inf if excess[at] > excess[0] else objective.cost(load)
        on_layer()
    return candidates[int(np.argmin(costs))]
