"""What is done number by number, to be compiled by `hpc.spdnn.compiled`: slopes and losses.

Arrays are flat; a panel starts `pitch` numbers after the one before, its rows are `width`
numbers.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import types


def signatures(dtype):
    """Return the argument types of each loop for float32 or float64."""
    number = types.float32 if dtype == np.float32 else types.float64
    floats, integer, wide = number[::1], types.intp, types.float64
    ints, facts = types.int32[::1], wide[:, ::1]
    array = (floats, integer)
    return {
        "multiply_by_slope": (floats, floats, wide),
        "column_maxima": (*array, integer, integer, facts),
        "squared_error": (*array, integer, ints, ints, facts, wide, *array, facts),
    }


def multiply_by_slope(delta, x, clip):
    """Set delta to 0 where x = min(max(z, 0), clip) does not change with z."""
    zero, most = x.dtype.type(0), x.dtype.type(clip)
    for k in range(len(delta)):
        inside = (x[k] > zero) & (x[k] < most)
        delta[k] = delta[k] if inside else zero


def column_maxima(x, pitch, rows, width, largest):
    """Raise largest, (panels, width), to the largest number of each column."""
    best = np.empty(width, x.dtype)
    for panel in range(largest.shape[0]):
        best[:] = -np.inf
        for row in range(rows):
            at = panel * pitch + row * width
            for column in range(width):
                value = x[at + column]
                best[column] = value if value > best[column] else best[column]
        for column in range(width):
            largest[panel, column] = max(largest[panel, column], best[column])


def squared_error(x, pitch, width, ids, labels, largest, scale, slope, s_pitch, facts):
    """Set facts, (3, panels · width), and slope for squared errors against one-hot labels.

    facts : per column the label's value, the sum of the squared errors, and how many rows
    before the label are as large as the largest. slope : scale · error, or empty.
    """
    for panel in range(largest.shape[0]):
        first = panel * width
        for row in range(len(ids)):
            at, there = panel * pitch + row * width, panel * s_pitch + row * width
            for column in range(width):
                value = x[at + column]
                error = value
                if labels[first + column] == ids[row]:
                    error = value - 1
                    facts[0, first + column] += value
                elif value == largest[panel, column] and ids[row] < labels[first + column]:
                    facts[2, first + column] += 1
                facts[1, first + column] += error * error
                if len(slope):
                    slope[there + column] = error * scale
