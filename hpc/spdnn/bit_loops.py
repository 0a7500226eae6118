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
    """Return the argument types of `multiply` and of its twin in `lookup_loops`."""
    number = types.float32 if dtype == np.float32 else types.float64
    floats, ints, integer, limit = number[::1], types.int32[::1], types.intp, types.float64
    span = types.UniTuple(integer, 2)
    weights = types.Tuple((ints, ints, floats))
    output = types.Tuple((ints, types.uint8[::1], floats, limit, limit, types.boolean))
    words = types.uint64[::1]
    return weights, output, words, integer, floats, integer, span, span, types.uint32[::1]


def signatures(dtype):
    """Return the argument types of each loop for float32 or float64."""
    return {"multiply": product_types(dtype)}


def multiply(weights, output, words, x_pitch, z, z_pitch, panels, columns, scratch):
    """Set rows of z to W x, or add W x to them, for x of bits; finish those that are complete.

    weights, output, panels : as in `numba_loops.multiply`, for all rows. columns : (first,
    stop) of x that have weights here. scratch : not used.
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
