"""The weight gradient, to be compiled by `hpc.spdnn.compiled`: outer products on a pattern.

Eight weights of a row go together, so that what the row has of delta is loaded once for
them, and their sums over the columns, one register each, are made numbers all at once.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit, types

from hpc.spdnn.vector_arithmetic import add, add_product, total_of, totals_of
from hpc.spdnn.vectors import item, load, load_registers, no_registers, register_lanes, store, zeros


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
    floats, integer = number[::1], types.intp
    pattern, span = types.UniTuple(types.int32[::1], 3), types.UniTuple(integer, 2)
    array = (floats, integer)
    return {"add_gradient": (pattern, floats, *array, *array, integer, span, span)}


@njit
def _eight(indices, e, values, delta, row, d_pitch, x, x_pitch, width, panels):
    """Add the gradients of weights e..e+7 of a row, over the columns that fill registers."""
    lanes = register_lanes(x)
    a, b, c, d = no_registers(x, 1), no_registers(x, 1), no_registers(x, 1), no_registers(x, 1)
    f, g, h, i = no_registers(x, 1), no_registers(x, 1), no_registers(x, 1), no_registers(x, 1)
    whole = width - width % lanes
    for panel in range(panels[0], panels[1]):
        left, right = panel * d_pitch + row, panel * x_pitch
        at_a = right + np.intp(item(indices, e)) * width
        at_b = right + np.intp(item(indices, e + 1)) * width
        at_c = right + np.intp(item(indices, e + 2)) * width
        at_d = right + np.intp(item(indices, e + 3)) * width
        at_f = right + np.intp(item(indices, e + 4)) * width
        at_g = right + np.intp(item(indices, e + 5)) * width
        at_h = right + np.intp(item(indices, e + 6)) * width
        at_i = right + np.intp(item(indices, e + 7)) * width
        for k in range(0, whole, lanes):
            slope = load_registers(delta, left + k, 1)
            a = add_product(a, slope, load_registers(x, at_a + k, 1))
            b = add_product(b, slope, load_registers(x, at_b + k, 1))
            c = add_product(c, slope, load_registers(x, at_c + k, 1))
            d = add_product(d, slope, load_registers(x, at_d + k, 1))
            f = add_product(f, slope, load_registers(x, at_f + k, 1))
            g = add_product(g, slope, load_registers(x, at_g + k, 1))
            h = add_product(h, slope, load_registers(x, at_h + k, 1))
            i = add_product(i, slope, load_registers(x, at_i + k, 1))
    store(values, e, add(load(values, e, 8), totals_of(a, b, c, d, f, g, h, i)))


@njit
def _narrow(indices, first, stop, values, delta, row, d_pitch, x, x_pitch, width, panels):
    """Add the gradients of a row's weights, of panels narrower than a register."""
    for panel in range(panels[0], panels[1]):
        left, right = panel * d_pitch + row, panel * x_pitch
        for e in range(first, stop):
            at, total = right + np.intp(item(indices, e)) * width, values[e]
            for k in range(width):
                total += item(delta, left + k) * item(x, at + k)
            values[e] = total


@njit
def _one(indices, e, values, delta, row, d_pitch, x, x_pitch, start, width, panels):
    """Add the gradient of weight e over the columns from `start` on."""
    column = np.intp(item(indices, e)) * width
    wide, middle, narrow = zeros(x, 64), zeros(x, 16), values[e]
    for panel in range(panels[0], panels[1]):
        left, right = panel * d_pitch + row + start, panel * x_pitch + column + start
        end = left + width - start
        while left + 64 <= end:
            wide = add_product(wide, load(delta, left, 64), load(x, right, 64))
            left, right = left + 64, right + 64
        while left + 16 <= end:
            middle = add_product(middle, load(delta, left, 16), load(x, right, 16))
            left, right = left + 16, right + 16
        while left < end:
            narrow += item(delta, left) * item(x, right)
            left, right = left + 1, right + 1
    values[e] = narrow + total_of(wide) + total_of(middle)


def add_gradient(pattern, values, delta, d_pitch, x, x_pitch, width, panels, rows):
    """Add delta xᵀ on the pattern to values, summed over the columns of some panels.

    Parameters
    ----------
    pattern : tuple
        (indptr, indices, places), CSR without numbers; places are the rows of delta, indices
        those of x. All int32.
    values : (nnz,) float array
        Added to.
    delta, x : flat float arrays
        Panels of rows.
    d_pitch, x_pitch : int
        Numbers from one panel to the next, of each.
    width : int
        Columns of a panel.
    panels, rows : tuple of int
        (first, stop) to work on, rows being those of the pattern.
    """
    indptr, indices, places = pattern
    whole = width - width % register_lanes(x)
    for r in range(rows[0], rows[1]):
        row = np.intp(places[r]) * width
        first, stop = indptr[r], indptr[r + 1]
        if not whole:
            _narrow(indices, first, stop, values, delta, row, d_pitch, x, x_pitch, width, panels)
            continue
        eights = stop - (stop - first) % 8
        for e in range(first, eights, 8):
            _eight(indices, e, values, delta, row, d_pitch, x, x_pitch, width, panels)
        if whole < width:
            for e in range(first, eights):
                _one(indices, e, values, delta, row, d_pitch, x, x_pitch, whole, width, panels)
        for e in range(eights, stop):
            _one(indices, e, values, delta, row, d_pitch, x, x_pitch, 0, width, panels)
