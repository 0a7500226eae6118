"""Contiguous ownership: which of n things belong to which of `size` ranks. Pure."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def owned_range(n: int, size: int, rank: int) -> tuple[int, int]:
    """Return the half-open range of things that `rank` owns when n things are dealt in blocks.

    The first ``n % size`` ranks own one more than the rest; ranks past n own none.

    Parameters
    ----------
    n : int
        Things, 0 or more.
    size : int
        Ranks, at least 1.
    rank : int
        0..size-1.

    Returns
    -------
    (int, int)
        First, and one past the last; equal where it owns none.
    """
    share, extra = divmod(n, size)
    start = rank * share + min(rank, extra)
    return start, start + share + (rank < extra)


def block_owners(n: int, size: int) -> npt.NDArray[np.int32]:
    """Return the owner of each of n things under `owned_range`.

    Parameters
    ----------
    n : int
        Things, 0 or more.
    size : int
        Ranks, at least 1.

    Returns
    -------
    (n,) int32 array
        Ranks, ascending.
    """
    bounds = [owned_range(n, size, rank)[0] for rank in range(size)]
    return (np.searchsorted(bounds, np.arange(n), side="right") - 1).astype(np.int32)
