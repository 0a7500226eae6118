"""Panels as the compiled loops see them: flat numbers and the distance between two panels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import as_strided

Floats = npt.NDArray[np.floating]


def flat(array: Floats) -> tuple[Floats, int]:
    """Return the numbers of (panels, rows, width) from the first to the last, and the pitch.

    The panels may lie apart, as some rows of larger panels do; the result shares their memory.
    """
    panels, rows, width = array.shape
    if array.flags.c_contiguous:
        return array.reshape(-1), rows * width
    pitch = array.strides[0] // array.itemsize
    size = (panels - 1) * pitch + rows * width
    return as_strided(array, (size,), (array.itemsize,)), pitch
