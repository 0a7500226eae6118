"""Panels as the compiled loops want them: aligned, flat, and so far apart."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

Floats = npt.NDArray[np.floating]
LINE = 64
"""Bytes of a cache line and of the widest vector register."""


def flat(array: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], int]:
    """Return the numbers of (panels, rows, width) from the first to the last, and the pitch.

    The panels may lie apart, as some rows of larger panels do; the result shares their memory.

    Parameters
    ----------
    array : (panels, rows, width) array
        C-ordered, or some rows of every panel of an array that is.

    Returns
    -------
    tuple of flat array and int
        The pitch is the distance of panels, in numbers.
    """
    panels, rows, width = array.shape
    if array.flags.c_contiguous:
        return array.reshape(-1), rows * width
    pitch = array.strides[0] // array.itemsize
    size = (panels - 1) * pitch + rows * width
    return as_strided(array, (size,), (array.itemsize,)), pitch


def aligned(size: int, dtype: npt.DTypeLike) -> Floats:
    """Return zeros that begin at a cache line, so that no vector of a row straddles two.

    They are written, so that the system gives the memory now and not on a hot path.

    Parameters
    ----------
    size : int
        How many numbers.
    dtype : dtype-like
        Of the numbers.

    Returns
    -------
    (size,) array
        It begins at a multiple of LINE bytes.
    """
    kind = np.dtype(dtype)
    memory = np.full(size * kind.itemsize + LINE, 0, np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size * kind.itemsize].view(kind)
