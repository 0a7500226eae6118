"""A sum over ranks in the order of ranks: the same bits in every run, under every MPI, everywhere.

What MPI's own Allreduce adds in which order is up to the library and the size of the message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from mpi4py.util.dtlib import from_numpy_dtype

from hpc.io.ownership import owned_range

SMALL_BYTES = 1 << 14
"""Up to this size every rank gets everything; larger ones are dealt out, summed and gathered."""

Until = Callable[[Callable[[], bool]], None]
"""Waits until a function says so."""


def rank_order_sum(
    comm: MPI.Comm, buffer: Any, until: Until, small_bytes: int = SMALL_BYTES
) -> None:
    """Replace `buffer` by its sum over `comm`: x_0 + x_1 + ... from left to right. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the ranks that sum; of one rank nothing is done.
    buffer : array or tensor
        Contiguous host memory that numpy can view (array, torch tensor on the CPU), of the same
        shape and dtype on all ranks. One on a device is summed by MPI, in MPI's order.
    until : callable
        How to wait.
    small_bytes : int
        Bytes, the same on all ranks: up to this size every rank gets everything.
    """
    if comm.size == 1:
        return
    if getattr(buffer, "is_cuda", False):
        comm.Allreduce(MPI.IN_PLACE, buffer)
        return
    flat = np.asarray(buffer).reshape(-1)
    if flat.nbytes <= small_bytes:
        _gather_and_sum(comm, flat, until)
    else:
        _deal_and_sum(comm, flat, until)


def _gather_and_sum(comm: MPI.Comm, flat: npt.NDArray[Any], until: Until) -> None:
    parts = np.empty((comm.size, flat.size), flat.dtype)
    until(comm.Iallgather(flat, parts).Test)
    _add_up(parts, flat)


def _deal_and_sum(comm: MPI.Comm, flat: npt.NDArray[Any], until: Until) -> None:
    """Each rank sums its own range of the numbers of all; what is sent is twice the buffer."""
    ranges = [owned_range(flat.size, comm.size, rank) for rank in range(comm.size)]
    counts = [stop - start for start, stop in ranges]
    starts = [start for start, _ in ranges]
    own = slice(*ranges[comm.rank])
    parts = np.empty((comm.size, counts[comm.rank]), flat.dtype)
    element = from_numpy_dtype(flat.dtype)
    until(comm.Ialltoallv([flat, counts, starts, element], [parts, *_rows(parts), element]).Test)
    _add_up(parts, flat[own])
    until(comm.Iallgatherv(MPI.IN_PLACE, [flat, counts, starts, element]).Test)


def _rows(parts: npt.NDArray[Any]) -> tuple[list[int], list[int]]:
    """Return counts and starts of the rows."""
    rows, width = parts.shape
    return [width] * rows, [row * width for row in range(rows)]


def _add_up(parts: npt.NDArray[Any], total: npt.NDArray[Any]) -> None:
    total[:] = parts[0]
    for part in parts[1:]:
        total += part
