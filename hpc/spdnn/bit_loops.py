"""The loops of a first layer on 0/1 inputs, straight from bits; for `hpc.spdnn.compiled`.

Words are (panels, rows), 64 columns each. Outputs are panels of width 64.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import types

from hpc.spdnn.bit_vectors import add_where
from hpc.spdnn.numba_loops import finish_row
from hpc.spdnn.vectors import zeros


def product_types(dtype):
    """Return the argument types of `multiply` and of its twin in `lookup_loops`.

    Parameters
    ----------
    dtype : numpy.dtype
        float32, or float64, of weights and sums.

    Returns
    -------
    tuple
        Numba types, in the order of the parameters of `multiply`.
    """
    number = types.float32 if dtype == np.float32 else types.float64
    floats, ints, integer, limit = number[::1], types.int32[::1], types.intp, types.float64
    span = types.UniTuple(integer, 2)
    weights = types.Tuple((ints, ints, floats))
    output = types.Tuple((ints, types.uint8[::1], floats, limit, limit, types.boolean))
    words = types.uint64[::1]
    return weights, output, words, integer, floats, integer, span, span, types.uint32[::1]


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


def multiply(weights, output, words, x_pitch, z, z_pitch, panels, columns, scratch):
    """Set rows of z to W x, or add W x to them, for x of bits; finish those that are complete.

    Parameters
    ----------
    weights, output : tuples
        As in `numba_loops.multiply`, for all rows.
    words : flat uint64 array
        x as bits: a word of 64 columns a row.
    x_pitch : int
        Words from one panel to the next.
    z : flat float array
        The outputs, in panels of width 64.
    z_pitch : int
        Numbers from one panel to the next.
    panels : tuple of int
        (first, stop) to work on.
    columns : tuple of int
        (first, stop) of the rows of x that have weights here.
    scratch : flat uint32 array
        Not used.
    """
    indptr, indices, data = weights
    places, last, bias, low, high, add_to = output
    limits = low, high, add_to
    for panel in range(panels[0], panels[1]):
        x_at = panel * x_pitch
        for r in range(len(places)):
            total = zeros(z, 64)
            for e in range(indptr[r], indptr[r + 1]):
                total = add_where(total, words[x_at + np.intp(indices[e])], data[e])
            finish_row(total, r, places, last, bias, limits, z, panel * z_pitch, 64, 64)
