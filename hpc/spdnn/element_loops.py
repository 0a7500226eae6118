"""What is done number by number, to be compiled by `hpc.spdnn.compiled`: slopes and losses.

Arrays are flat; a panel starts `pitch` numbers after the one before, its rows are `width`
numbers.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import types


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
    """Set delta to 0 where x = min(max(z, 0), clip) does not change with z.

    Parameters
    ----------
    delta : (n,) float array
        Changed in place.
    x : (n,) float array
        The activation's output.
    clip : float
        Infinite for a relu without a limit.
    """
    zero, most = x.dtype.type(0), x.dtype.type(clip)
    for k in range(len(delta)):
        inside = (x[k] > zero) & (x[k] < most)
        delta[k] = delta[k] if inside else zero


def column_maxima(x, pitch, rows, width, largest):
    """Raise largest, (panels, width), to the largest number of each column.

    Parameters
    ----------
    x : flat float array
        Own rows of the last level.
    pitch, rows, width : int
        Of x, see above: its rows in a panel, too.
    largest : (panels, width) float64 array
        Changed in place.
    """
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
    """Add up facts, and set slope, for squared errors against one-hot labels.

    Parameters
    ----------
    x : flat float array
        Own rows of the last level.
    pitch, width : int
        Of x, see above.
    ids : (rows,) int32 array
        Global numbers of the rows.
    labels : (panels · width,) int32 array
        Of the columns.
    largest : (panels, width) float64 array
        Largest number of each column, over all ranks.
    scale : float
        What an error is multiplied by in `slope`.
    slope : flat float array
        Overwritten by scale · error; empty: not wanted.
    s_pitch : int
        Numbers from one panel of slope to the next.
    facts : (3, panels · width) float64 array
        Added to, so zeros before: per column the label's value, the sum of the squared errors, and
        how many rows before the label are as large as the largest.
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
