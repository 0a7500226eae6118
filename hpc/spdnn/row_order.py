"""The order of a rank's own rows: those that share columns become neighbours (cache reuse).

Local numbering is free: a rank's rows of a level are renumbered after loading, in
place. The order on the wire does not change. A row is placed by the places of its
first columns in the level below, so rows with the same columns lie side by side, and
so, in the next layer, do their outputs. The inputs' level keeps its ascending order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import _sparsetools

from hpc.io.halo import Ints, Longs, Part
from hpc.io.shard import LayerShard, Shard

KEYS = 3
"""Columns of a row, or rows of a column, that decide where it lies."""


def reorder(shard: Shard) -> None:
    """Renumber the own rows of every level above the inputs, in the shard's own arrays.

    Afterwards `ids` do not ascend, nor do a row's columns.

    Parameters
    ----------
    shard : Shard
        Changed in place: weights, biases, sends and ids.
    """
    places = np.arange(len(shard.ids[0]), dtype=np.int32)
    for layer, ids in zip(shard.layers, shard.ids[1:], strict=True):
        _renumber_columns(layer, places)
        order = row_order(layer)
        places = np.empty_like(order)
        places[order] = np.arange(len(order), dtype=np.int32)
        _take_rows(layer.core, order)
        for part in layer.parts:
            _renumber_rows(part, places)
        layer.bias[...] = layer.bias[order]
        ids[...] = ids[order]


def row_order(layer: LayerShard) -> Ints:
    """Return the rows in an order that has rows with the same columns side by side.

    Parameters
    ----------
    layer : LayerShard
        Its core part counts first, then its parts by source.

    Returns
    -------
    (n_out,) int32 array
        The row that comes to each place.
    """
    parts = [(part.indptr, part.indices, part.rows) for part in (layer.core, *layer.parts)]
    return side_by_side(parts, layer.n_out)


def side_by_side(lists: Sequence[tuple[Ints | Longs, Ints, Ints]], n: int) -> Ints:
    """Return 0..n-1 in an order that has those whose lists begin alike side by side.

    Parameters
    ----------
    lists : sequence of tuples
        (bounds (m+1,), entries, whose (m,)): those of whose[i] are entries[bounds[i] :
        bounds[i+1]]. KEYS of them count at most; of several lists of the same, the first counts
        as far as it goes.
    n : int
        How many there are to order.

    Returns
    -------
    (n,) int32 array
        One without entries comes last.
    """
    none = np.iinfo(np.int32).max
    keys = np.full((KEYS, n), none, np.int32)
    for bounds, entries, whose in lists:
        starts, lengths = bounds[:-1], np.diff(bounds)
        for number in range(KEYS):
            has = np.flatnonzero((lengths > number) & (keys[number, whose] == none))
            keys[number, whose[has]] = entries[starts[has] + number]
    return np.lexsort(keys[::-1]).astype(np.int32)


def _renumber_columns(layer: LayerShard, places: Ints) -> None:
    """Follow the level below into its new order: own columns, and own rows that are sent."""
    for numbers in (layer.core.indices, *(rows for _, rows in layer.sends)):
        numbers[...] = places[numbers]


def _renumber_rows(part: Part, places: Ints) -> None:
    part.rows[...] = places[part.rows]
    order = np.argsort(part.rows).astype(np.int32)
    part.rows[...] = part.rows[order]
    _take_rows(part, order)


def _take_rows(part: Part, order: Ints) -> None:
    """Put the rows of a CSR into another order."""
    indices, data = np.empty_like(part.indices), np.empty_like(part.data)
    _sparsetools.csr_row_index(
        len(order), order, part.indptr, part.indices, part.data, indices, data
    )
    lengths = np.diff(part.indptr)[order]
    part.indices[...], part.data[...] = indices, data
    np.cumsum(lengths, out=part.indptr[1:])
