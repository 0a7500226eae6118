"""A first layer on bits whose rows have equal weights: set bits are counted, then scaled.

For `hpc.spdnn.compiled`. Four panels of 64 columns go together.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from hpc.spdnn.bit_loops import product_types
from hpc.spdnn.count_vectors import load_words, most_of, no_words, odd_of, scaled_counts
from hpc.spdnn.numba_loops import finish_row


def signatures(dtype):
    """Return the argument types of each loop for float32 or float64.

    Parameters
    ----------
    dtype : numpy.dtype
        float32 or float64.

    Returns
    -------
    dict of str to tuple
        Numba types of the parameters by the loop's name.
    """
    return {"multiply": product_types(dtype)}


@njit(inline="always")
def _side_by_side(words, first, count, pitch, columns, scratch):
    """Lay rows of up to four panels of words out side by side: (columns, 4) words."""
    for column in range(columns[0], columns[1]):
        for panel in range(4):
            word = np.uint64(0)
            if panel < count:
                word = words[(first + panel) * pitch + column]
            at = 8 * column + 2 * panel
            scratch[at] = np.uint32(word & np.uint64(0xFFFFFFFF))
            scratch[at + 1] = np.uint32(word >> np.uint64(32))


@njit(inline="always")
def _raised(carry, fours, eights, sixteens, last):
    """Add a plane of fours to the planes from there on."""
    none = no_words()
    up = most_of(fours, carry, none)
    fours = odd_of(fours, carry, none)
    further = most_of(eights, up, none)
    eights = odd_of(eights, up, none)
    up = most_of(sixteens, further, none)
    sixteens = odd_of(sixteens, further, none)
    return fours, eights, sixteens, odd_of(last, up, none)


@njit(inline="always")
def _counted(indices, first, stop, scratch):
    """Return the planes of how many of the rows indices[first:stop] are set in each column."""
    none = no_words()
    ones, twos, fours, eights, sixteens, last = none, none, none, none, none, none
    fit = stop - (stop - first) % 4
    for e in range(first, fit, 4):
        a = load_words(scratch, 8 * np.intp(indices[e]))
        b = load_words(scratch, 8 * np.intp(indices[e + 1]))
        c = load_words(scratch, 8 * np.intp(indices[e + 2]))
        d = load_words(scratch, 8 * np.intp(indices[e + 3]))
        early, ones = most_of(ones, a, b), odd_of(ones, a, b)
        late, ones = most_of(ones, c, d), odd_of(ones, c, d)
        up, twos = most_of(twos, early, late), odd_of(twos, early, late)
        fours, eights, sixteens, last = _raised(up, fours, eights, sixteens, last)
    for e in range(fit, stop):
        a = load_words(scratch, 8 * np.intp(indices[e]))
        up, ones = most_of(ones, a, none), odd_of(ones, a, none)
        carry, twos = most_of(twos, up, none), odd_of(twos, up, none)
        fours, eights, sixteens, last = _raised(carry, fours, eights, sixteens, last)
    return ones, twos, fours, eights, sixteens, last


def multiply(weights, output, words, x_pitch, z, z_pitch, panels, columns, scratch):
    """Set rows of z to W x, or add W x to them, for equal weights in every row.

    Parameters
    ----------
    weights : tuple
        (indptr, indices, data), of which a row has at most 63, all equal.
    output, words, x_pitch, z, z_pitch, panels, columns : see `bit_loops.multiply`
        Panels go by four.
    scratch : flat uint32 array
        Eight numbers for each row of x, overwritten in `columns`.
    """
    indptr, indices, data = weights
    places, last, bias, low, high, add_to = output
    limits = low, high, add_to
    for panel in range(panels[0], panels[1], 4):
        count = min(4, panels[1] - panel)
        _side_by_side(words, panel, count, x_pitch, columns, scratch)
        for r in range(len(places)):
            first, stop = indptr[r], indptr[r + 1]
            planes = _counted(indices, first, stop, scratch)
            weight = data[first] if stop > first else data.dtype.type(0)
            at = panel * z_pitch
            total = scaled_counts(z, planes, 0, weight)
            finish_row(total, r, places, last, bias, limits, z, at, 64, 64)
            if count > 1:
                total = scaled_counts(z, planes, 1, weight)
                finish_row(total, r, places, last, bias, limits, z, at + z_pitch, 64, 64)
            if count > 2:
                total = scaled_counts(z, planes, 2, weight)
                finish_row(total, r, places, last, bias, limits, z, at + 2 * z_pitch, 64, 64)
            if count > 3:
                total = scaled_counts(z, planes, 3, weight)
                finish_row(total, r, places, last, bias, limits, z, at + 3 * z_pitch, 64, 64)
