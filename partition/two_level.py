"""Cuts for ranks in nodes: over the nodes first, then inside each; or a flat cut, mapped.

Whichever sends the fewest words, those between nodes weighed; the flat cut as
it is is among the choices. Mt-KaHyPar's mapping onto a target graph, layer by
layer, is not: on networks of 1,024 neurons for 8 to 32 ranks it cost 7 to 11 %
more than the cut over nodes.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from partition.ahead import OnLayer, first_pass, searched
from partition.asked import Asked
from partition.balance import part_limits
from partition.choice import Levels, cheapest
from partition.hypergraph import FREE, Blocks, Longs
from partition.inputs import input_owners
from partition.layer_cut import LayerCut, row_weights
from partition.load import layer_load
from partition.nodes import names_in_nodes, parts_hypergraph, prices
from partition.objective import Volume
from partition.patterns import Patterns
from partition.refine import refined
from partition.repair import repair

SCALE = 10
"""Net weights are whole: words inside a node in tenths."""


def node_levels(
    asked: Asked, cut: LayerCut, patterns: Patterns, flat: Levels, on_layer: OnLayer
) -> Levels:
    """Return the owners of every level at the fewest weighed words that were found.

    Parameters
    ----------
    asked : Asked
        With nodes; parts, shares, ε, window and what a word between nodes costs.
    cut : LayerCut
        Of `asked.parts` parts.
    patterns : Patterns
        The network's layers.
    flat : list of (n_k,) int32 arrays
        The plan of least volume; no other one may be more uneven in any layer.
    on_layer : callable
        Called for each layer by every pass over them: see `candidates.passes`.

    Returns
    -------
    list of (n_k,) int32 arrays
        Levels 0..L.

    Raises
    ------
    InputError : a partitioner that is not installed.
    """
    nodes, ranks = asked.node_shape
    objective = Volume(prices(nodes, ranks, asked.inter_cost))
    candidates = [flat, _mapped(asked, cut, patterns, flat, on_layer)]
    candidates.append(_two_level(asked, patterns, on_layer))
    best = cheapest(objective, cut, patterns, candidates, on_layer)
    return refined(objective, patterns, best, cut.limits, asked.parts, on_layer)


def _mapped(
    asked: Asked, cut: LayerCut, patterns: Patterns, flat: Levels, on_layer: OnLayer
) -> Levels:
    """Return the flat plan with its parts renamed, so that parts that talk share a node."""
    links = np.zeros((asked.parts, asked.parts), np.int64)
    for k in range(len(patterns)):
        links += layer_load(patterns[k], flat[k + 1], flat[k], asked.parts).links
        on_layer()
    if asked.weights or not links.any():  # only equal parts may change names
        return flat
    graph, (nodes, ranks) = parts_hypergraph(links), asked.node_shape
    room = np.full(nodes, ranks)
    node_of = repair(graph, cut.solve(graph, room), room)
    names = names_in_nodes(node_of)
    return [names[level] for level in flat]


class NodeCut(LayerCut):
    """Cuts over nodes, each with room for what its ranks may hold.

    Parameters
    ----------
    asked : Asked
        With nodes; P = nodes · ranks parts.

    Attributes
    ----------
    asked : Asked
        The same with a part for each node.

    Raises
    ------
    InputError : the partitioner is not installed.
    """

    def __init__(self, asked: Asked) -> None:
        self._ranked = asked
        nodes, ranks = asked.node_shape
        weights = tuple(asked.shares.reshape(nodes, ranks).sum(axis=1)) if asked.weights else ()
        self.asked = replace(asked, parts=nodes, weights=weights)
        super().__init__(self.asked)

    def limits(self, weights: Longs) -> Longs:
        """Return how much of rows of these weights each node may hold: by half of ε.

        Parameters
        ----------
        weights : (n,) int64 array
            Nonzeros of the rows.

        Returns
        -------
        (nodes,) int64 array
            The sum of what its ranks may hold, each in multiples of the weights' greatest divisor.
        """
        most = part_limits(weights, self._ranked.shares, self._ranked.epsilon / 2)
        unit = max(int(np.gcd.reduce(weights)), 1)
        limits: Longs = (most // unit * unit).reshape(self.parts, -1).sum(axis=1)
        return limits


def _two_level(asked: Asked, patterns: Patterns, on_layer: OnLayer) -> Levels:
    """Return a plan cut over nodes with windows, then inside nodes one layer at a time."""
    cut = NodeCut(asked)
    first = first_pass(cut, patterns, on_layer)
    homes = searched(cut.asked, cut, patterns, first, Volume(), on_layer)
    inside = _InsideNodes(asked)
    levels: Levels = []
    for k in range(len(patterns)):
        levels = levels or [np.full(len(homes[0]), FREE, np.int32)]
        levels.append(inside.rows(patterns, k, homes, levels[k]))
        if not k:
            levels[0] = inside.inputs(patterns, homes, levels[1])
        on_layer()
    return levels


class _InsideNodes:
    """Cuts the rows of each node over its ranks."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._nodes, self._ranks = asked.node_shape
        shares = asked.shares.reshape(self._nodes, self._ranks)
        self._cuts = [
            LayerCut(replace(asked, parts=self._ranks, weights=tuple(own) if asked.weights else ()))
            for own in shares
        ]

    def rows(self, patterns: Patterns, k: int, homes: Levels, below: Blocks) -> Blocks:
        """Return the owners of a layer's rows. below : owners of its columns, FREE if open."""
        pattern = patterns[k]
        limits = part_limits(row_weights(pattern), self._asked.shares, self._asked.epsilon)
        owners = np.empty(pattern.shape[0], np.int32)
        for node, cut in enumerate(self._cuts):
            rows, start = np.flatnonzero(homes[k + 1] == node), node * self._ranks
            here = homes[k] == node
            local = np.where(here & (below != FREE), below - start, FREE).astype(np.int32)
            price = np.where(here, SCALE, round(SCALE * self._asked.inter_cost))
            known = None if (below == FREE).all() else local
            room = limits[start : start + self._ranks]
            owners[rows] = start + cut.rows(pattern[rows], known, price, room)
        return owners

    def inputs(self, patterns: Patterns, homes: Levels, above: Blocks) -> Blocks:
        """Return the owners of x^0, each in the node that the cut over nodes chose."""
        owners = np.empty(len(homes[0]), np.int32)
        for node in range(self._nodes):
            rows, start = np.flatnonzero(homes[1] == node), node * self._ranks
            columns = np.flatnonzero(homes[0] == node)
            pattern = patterns[0][rows][:, columns]
            owners[columns] = start + input_owners(pattern, above[rows] - start, self._ranks)
        return owners
