"""All-to-all of rows of different lengths, for start-up and for saving: never on a hot path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from mpi4py.util.dtlib import from_numpy_dtype

Array = npt.NDArray[Any]


def route(
    comm: MPI.Comm, array: Array, counts: npt.NDArray[np.int64]
) -> tuple[Array, npt.NDArray[np.int64]]:
    """Send the next ``counts[r]`` items of `array` to each rank r in turn. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the ranks that send and receive.
    array : (items,) array
        Ordered by destination; of one dtype on all ranks.
    counts : (size,) int64 array
        Items for each rank, this one too.

    Returns
    -------
    received : array
        What came, ordered by source, one-dimensional, of the same dtype.
    incoming : (size,) int64 array
        Items by source.
    """
    incoming = np.empty(comm.size, np.int64)
    comm.Alltoall(np.ascontiguousarray(counts, np.int64), incoming)
    received = np.empty(int(incoming.sum()), array.dtype)
    kind = from_numpy_dtype(array.dtype)
    comm.Alltoallv(
        [np.ascontiguousarray(array), (counts, _starts(counts)), kind],
        [received, (incoming, _starts(incoming)), kind],
    )
    return received, incoming


def route_rows(
    comm: MPI.Comm,
    lengths: npt.NDArray[np.int64],
    destinations: npt.NDArray[np.integer],
    per_item: Sequence[Array],
    per_row: Sequence[Array],
) -> tuple[npt.NDArray[np.int64], list[Array], list[Array]]:
    """Send each row to its destination, with items of different numbers. Collective.

    Rows for one destination keep their order; what comes is ordered by source.

    Parameters
    ----------
    comm : MPI.Comm
        Of the ranks that send and receive.
    lengths : (rows,) int64 array
        Items of each row.
    destinations : (rows,) integer array
        Ranks.
    per_item : sequence of arrays
        With one value an item, row after row (columns, weights).
    per_row : sequence of arrays
        With one value a row (biases, row numbers).

    Returns
    -------
    lengths : (rows that came,) int64 array
        Their items.
    items : list of arrays
        Those of `per_item`, of the rows that came.
    rows : list of arrays
        Those of `per_row`, of the rows that came.
    """
    order = np.argsort(destinations, kind="stable")
    row_counts = np.bincount(destinations, minlength=comm.size)
    item_counts = np.bincount(destinations, weights=lengths, minlength=comm.size).astype(np.int64)
    gather = item_order(lengths, order)
    came, _ = route(comm, lengths[order], row_counts)
    items = [route(comm, array[gather], item_counts)[0] for array in per_item]
    rows = [route(comm, array[order], row_counts)[0] for array in per_row]
    return came, items, rows


def item_order(
    lengths: npt.NDArray[np.int64], order: npt.NDArray[np.integer]
) -> npt.NDArray[np.int64]:
    """Return the positions of the items when rows of `lengths` are taken in `order`. Pure.

    Parameters
    ----------
    lengths : (rows,) int64 array
        Items of each row, which lie row after row.
    order : (taken rows,) integer array
        Row numbers.

    Returns
    -------
    (items of the taken rows,) int64 array
        Where each lies.
    """
    starts = np.concatenate(([0], np.cumsum(lengths)))[:-1][order]
    taken = lengths[order]
    shift = np.repeat(starts - np.concatenate(([0], np.cumsum(taken)))[:-1], taken)
    return np.arange(int(taken.sum()), dtype=np.int64) + shift


def _starts(counts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    return np.concatenate(([0], np.cumsum(counts)[:-1])).astype(np.int64)
