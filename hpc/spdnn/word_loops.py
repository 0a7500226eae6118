"""Stored bits as words of 64 columns, to be compiled by `hpc.spdnn.compiled`."""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import types


def signatures(dtype):
    """Return the argument types of each loop; the same for every dtype.

    Parameters
    ----------
    dtype : numpy.dtype
        Plays no part.

    Returns
    -------
    dict of str to tuple
        Numba types of the parameters by the loop's name.
    """
    words, integer = types.uint64[::1], types.intp
    return {"fill_words": (types.uint8[:, ::1], integer, integer, words, integer)}


def fill_words(raw, first, columns, words, pitch):
    """Set words from bit-packed inputs: column c is bit first + c of a row.

    Bits beyond the last column are zero.

    Parameters
    ----------
    raw : (rows, bytes) uint8 array
        Eight columns a byte, lowest bit first.
    first : int
        0..7.
    columns : int
        How many to take.
    words : flat uint64 array
        Overwritten: in each panel of 64 columns the first `rows` words.
    pitch : int
        Words from one panel to the next.
    """
    rows, n_bytes = raw.shape
    for panel in range((columns + 63) // 64):
        start = 8 * panel
        left = columns - 64 * panel
        mask = np.uint64(0xFFFFFFFFFFFFFFFF)
        if left < 64:
            mask = (np.uint64(1) << np.uint64(left)) - np.uint64(1)
        for row in range(rows):
            word = np.uint64(0)
            for k in range(min(8, n_bytes - start)):
                word |= np.uint64(raw[row, start + k]) << np.uint64(8 * k)
            word >>= np.uint64(first)
            if first and start + 8 < n_bytes:
                word |= np.uint64(raw[row, start + 8]) << np.uint64(64 - first)
            words[panel * pitch + row] = word & mask
