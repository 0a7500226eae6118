"""Consecutive layers that share owners: one hypergraph of them all. Pure.

A *slot* is a vertex before merging: one neuron of each level of the window, so
that one owner is chosen for all of them. Its weight is the sum of theirs. Nets
are the columns of every layer of the window; a column of the first layer has
the fixed vertex of its owner as a pin, a column of a later layer the slot of
the neuron itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from partition.hypergraph import FREE, Blocks, Hypergraph, Longs
from partition.reduce import drop_single_pins, equal_groups, merged_nets, split_classes, sums

NONE = -1
"""In a partner or a slot's row: there is none."""


@dataclass(frozen=True)
class Window:
    """The hypergraph of some layers, slots with equal rows merged, and the way back.

    vertex_of : (slots,) int64, the vertex that holds each slot.
    slots : per layer, (n_out,) int64, the slot of each row.
    """

    hypergraph: Hypergraph
    vertex_of: Longs
    slots: tuple[Longs, ...]

    def expand(self, blocks: Blocks) -> list[Blocks]:
        """Return the owners of the rows of each layer from the parts of the vertices.

        Parameters
        ----------
        blocks : (n,) int32 array
            Part of every vertex.

        Returns
        -------
        list of (n_out,) int32 arrays
            One a layer.
        """
        return [blocks[self.vertex_of[slot]] for slot in self.slots]


def slots_of(n_first: int, partners: Sequence[Longs]) -> tuple[Longs, ...]:
    """Return the slot of every row of a window's layers.

    Parameters
    ----------
    n_first : int
        Rows of the window's first layer.
    partners : sequence of (n_out,) int64 arrays
        For each later layer, the neuron of the level below that each row shares its owner with,
        each at most once, or NONE: the row has a slot of its own.

    Returns
    -------
    tuple of (n_out,) int64 arrays
        One a layer, the first included; slots count from 0.
    """
    slots = [np.arange(n_first)]
    n_slots = n_first
    for partner in partners:
        slot = np.where(partner == NONE, NONE, slots[-1][partner])
        alone = np.flatnonzero(partner == NONE)
        slot[alone] = n_slots + np.arange(len(alone))
        n_slots += len(alone)
        slots.append(slot)
    return tuple(slots)


def slot_weights(patterns: Sequence[sparse.csr_array], slots: Sequence[Longs]) -> Longs:
    """Return the nonzeros of each slot's rows over the window, at least 1.

    Parameters
    ----------
    patterns : sequence of (n_out, n_in) CSR arrays
        The layers.
    slots : sequence of (n_out,) int64 arrays
        From `slots_of`.

    Returns
    -------
    (slots,) int64 array
        What each slot weighs in the balance.
    """
    weight = np.zeros(1 + max(int(slot.max()) for slot in slots), np.int64)
    for pattern, slot in zip(patterns, slots, strict=True):
        weight[slot] += np.diff(pattern.indptr)
    return np.maximum(weight, 1)


def window_hypergraph(
    patterns: Sequence[sparse.csr_array],
    slots: tuple[Longs, ...],
    owners_in: Blocks | None,
    limits: Longs,
) -> Window:
    """Return the hypergraph of a window.

    Slots whose rows are equal in every layer become one vertex, as few as the limits allow;
    that their neurons may be needed by different rows above is given up for it: to tear equal
    rows apart costs more than it gains.

    Parameters
    ----------
    patterns : sequence of (n_out, n_in) CSR arrays
        The layers.
    slots : tuple of (n_out,) int64 arrays
        From `slots_of`.
    owners_in : (n_in,) int32 array or None
        Of the first layer's columns; None for those of x^0.
    limits : (P,) int64 array
        The most of the slots' weights that each part may hold.

    Returns
    -------
    Window
        With a fixed vertex for each part, after the others, where there are owners.
    """
    weight = slot_weights(patterns, slots)
    n_slots = len(weight)
    row_at = [_rows_at(slot, n_slots) for slot in slots]
    classes = _slot_classes(patterns, row_at)
    vertex_of, starts = split_classes(weight, classes, limits)
    n_vertices = int(starts[-1])
    first = np.full(n_vertices, n_slots)
    np.minimum.at(first, vertex_of, np.arange(n_slots))
    own: list[Longs | None] = [
        None if owners_in is None else n_vertices + owners_in.astype(np.int64)
    ]
    own += [vertex_of[slot] for slot in slots[:-1]]
    n_fixed = 0 if owners_in is None else len(limits)
    nets = [
        _nets(pattern, rows[first], pins, n_vertices + n_fixed)
        for pattern, rows, pins in zip(patterns, row_at, own, strict=True)
    ]
    sizes = np.concatenate([np.diff(layer.indptr) for layer in nets])
    start, net_pins, net_weight = merged_nets(
        np.concatenate(([0], np.cumsum(sizes))),
        np.concatenate([layer.indices for layer in nets]),
        np.ones(len(sizes), np.int64),
    )
    graph = Hypergraph(
        start,
        net_pins.astype(np.int32),
        np.concatenate((sums(vertex_of, weight, n_vertices), np.zeros(n_fixed, np.int64))),
        net_weight,
        np.concatenate((np.full(n_vertices, FREE), np.arange(n_fixed))).astype(np.int32),
    )
    return Window(drop_single_pins(graph), vertex_of, slots)


def _rows_at(slot: Longs, n_slots: int) -> Longs:
    """Return the row in each slot or NONE, (slots,)."""
    rows = np.full(n_slots, NONE)
    rows[slot] = np.arange(len(slot))
    return rows


def _slot_classes(patterns: Sequence[sparse.csr_array], row_at: Sequence[Longs]) -> Longs:
    """Return the class of each slot: equal rows in every layer. (slots,), from 0."""
    classes = np.zeros(len(row_at[0]), np.int64)
    for pattern, rows in zip(patterns, row_at, strict=True):
        groups, _ = equal_groups(
            pattern.indptr, pattern.indices, np.zeros(pattern.shape[0], np.int64)
        )
        group = np.append(groups, NONE)[rows] + 1
        pairs = classes * (int(group.max()) + 1) + group
        classes = np.unique(pairs, return_inverse=True)[1]
    return classes


def _nets(
    pattern: sparse.csr_array, rows: Longs, own: Longs | None, n_vertices: int
) -> sparse.csr_array:
    """Return the columns of a layer as nets over vertices: (n_in, vertices) CSR.

    rows : (merged vertices,) a row of each vertex or NONE. own : (n_in,) the vertex that holds
        the column's neuron.
    """
    n_in = pattern.shape[1]
    held = np.flatnonzero(rows != NONE)
    chosen = pattern[rows[held]].tocoo()
    net, vertex = chosen.col.astype(np.int64), held[chosen.row]
    if own is not None:
        net, vertex = np.append(net, np.arange(n_in)), np.append(vertex, own)
    ones = np.ones(len(net), np.int8)
    nets = sparse.csr_array((ones, (net, vertex)), shape=(n_in, n_vertices))
    nets.sum_duplicates()
    return nets
