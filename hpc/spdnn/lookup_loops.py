"""A first layer on bits by table look-up, for hosts with AVX-512; for `hpc.spdnn.compiled`.

Four weights at a time: the sixteen sums of them fill one register, and four bits of
each column pick one (see `hpc.spdnn.bit_vectors`). Two panels go together.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit

from hpc.spdnn.bit_loops import product_types
from hpc.spdnn.bit_vectors import (
    add_picked,
    join,
    load_lanes,
    spread_words,
    store_lanes,
    sums_of,
)
from hpc.spdnn.numba_loops import finish_row
from hpc.spdnn.vectors import zeros


def signatures(dtype):
    """Return the argument types of each loop; float32 only.

    Parameters
    ----------
    dtype : numpy.dtype
        float32.

    Returns
    -------
    dict of str to tuple
        Numba types of the parameters by the loop's name.
    """
    return {"multiply": product_types(dtype)}


@njit(inline="always")
def _spread_words(words, at, other, both, columns, lanes):
    """Lay rows of one or two panels of words, at `at` and `other`, out in lanes: (columns, 16)."""
    for column in range(columns[0], columns[1]):
        low, high = words[at + column], np.uint64(0)
        if both:
            high = words[other + column]
        store_lanes(lanes, column * 16, spread_words(low, high))


def multiply(weights, output, words, x_pitch, z, z_pitch, panels, columns, scratch):
    """Set rows of z to W x, or add W x to them.

    Parameters
    ----------
    weights, output, words, x_pitch, z, z_pitch, panels, columns : see `bit_loops.multiply`
        Numbers are float32.
    scratch : flat uint32 array
        Sixteen numbers for each row of x, overwritten in `columns`.
    """
    indptr, indices, data = weights
    places, last, bias, low, high, add_to = output
    limits = low, high, add_to
    zero = data.dtype.type(0)
    for panel in range(panels[0], panels[1], 2):
        both = panel + 1 < panels[1]
        at = panel * x_pitch
        _spread_words(words, at, at + x_pitch, both, columns, scratch)
        for r in range(len(places)):
            one, two = zeros(z, 64), zeros(z, 64)
            stop = indptr[r + 1]
            fours = stop - (stop - indptr[r]) % 4
            for e in range(indptr[r], fours, 4):
                sums = sums_of(z, data[e], data[e + 1], data[e + 2], data[e + 3])
                numbers = join(
                    load_lanes(scratch, np.intp(indices[e]) * 16),
                    load_lanes(scratch, np.intp(indices[e + 1]) * 16),
                    load_lanes(scratch, np.intp(indices[e + 2]) * 16),
                    load_lanes(scratch, np.intp(indices[e + 3]) * 16),
                )
                one, two = add_picked(one, sums, numbers, 0), add_picked(two, sums, numbers, 4)
            for e in range(fours, stop):
                sums = sums_of(z, data[e], zero, zero, zero)
                numbers = load_lanes(scratch, np.intp(indices[e]) * 16)
                one, two = add_picked(one, sums, numbers, 0), add_picked(two, sums, numbers, 4)
            z_at = panel * z_pitch
            finish_row(one, r, places, last, bias, limits, z, z_at, 64, 64)
            if both:
                finish_row(two, r, places, last, bias, limits, z, z_at + z_pitch, 64, 64)
