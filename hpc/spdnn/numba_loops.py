"""The loops of the numba kernel, to be compiled by `hpc.spdnn.compiled`.

Arrays are flat; a panel starts `pitch` numbers after the one before and its rows
are `width` numbers. A row's sums over a tile of columns stay in registers. Every
column is summed over the weights in their order by fma, whatever tile it falls
in, so its bits depend neither on its place nor on the columns beside it.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit, types

from hpc.spdnn.vector_arithmetic import add, add_scaled, clamp
from hpc.spdnn.vectors import item, load, store, zeros


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
    floats, ints, integer, limit = number[::1], types.int32[::1], types.intp, types.float64
    span = types.UniTuple(integer, 2)
    weights = types.Tuple((ints, ints, floats))
    output = types.Tuple((ints, types.uint8[::1], floats, limit, limit, types.boolean))
    panels = (floats, integer)
    return {
        "multiply": (weights, output, *panels, *panels, integer, span, span, integer),
        "add_transposed": (types.UniTuple(ints, 4), floats, floats, floats, integer, span, integer),
        "add_rows": (floats, output, *panels, integer, span),
    }


@njit
def _sum_from(total, indices, data, first, stop, x, x_at, width, lanes):
    for e in range(first, stop):
        total = add_scaled(
            total, item(data, e), load(x, x_at + np.intp(item(indices, e)) * width, lanes)
        )
    return total


@njit(inline="always")
def finish_row(total, r, places, last, bias, limits, z, z_at, width, lanes):
    """Store the sums of row number r; add to z, apply bias and limits, as `multiply` says.

    Arrays come one by one: a tuple that is taken apart in a loop counts references there.
    limits : (low, high, add_to).

    Parameters
    ----------
    total : vector of `lanes` lanes
        The row's sums.
    r : int
        Number of the row in the part.
    places, last, bias : arrays
        As in the `output` of `multiply`.
    limits : tuple
        (low, high, add_to), as there.
    z : flat float array
        Written, or added to, at `lanes` numbers.
    z_at : int
        Where the tile's first column of z's first row lies.
    width, lanes : int
        Columns of a panel, and of the tile.
    """
    low, high, add_to = limits
    place = np.intp(item(places, r))
    if add_to:
        total = add(load(z, z_at + place * width, lanes), total)
    if item(last, r):
        total = clamp(total, item(bias, place), low, high)
    store(z, z_at + place * width, total)


@njit(inline="always")
def _multiply_tile(weights, output, x, x_at, z, z_at, width, rows, lanes):
    indptr, indices, data = weights
    places, last, bias, low, high, add_to = output
    limits = low, high, add_to
    for r in range(rows[0], rows[1]):
        total = zeros(x, lanes)
        for e in range(indptr[r], indptr[r + 1]):
            row = load(x, x_at + np.intp(item(indices, e)) * width, lanes)
            total = add_scaled(total, item(data, e), row)
        finish_row(total, r, places, last, bias, limits, z, z_at, width, lanes)


@njit(inline="always")
def _multiply_four(weights, output, x, x_at, z, z_at, width, rows, lanes):
    """Four rows side by side: a sum of few lanes waits for itself, and others fill the time."""
    indptr, indices, data = weights
    places, last, bias, low, high, add_to = output
    limits = low, high, add_to
    r = rows[0]
    while r + 4 <= rows[1]:
        a, b, c, d = indptr[r], indptr[r + 1], indptr[r + 2], indptr[r + 3]
        both = min(min(b - a, c - b), min(d - c, indptr[r + 4] - d))
        one, two, three, four = zeros(x, lanes), zeros(x, lanes), zeros(x, lanes), zeros(x, lanes)
        for e in range(both):
            at = x_at + np.intp(item(indices, a + e)) * width
            one = add_scaled(one, item(data, a + e), load(x, at, lanes))
            at = x_at + np.intp(item(indices, b + e)) * width
            two = add_scaled(two, item(data, b + e), load(x, at, lanes))
            at = x_at + np.intp(item(indices, c + e)) * width
            three = add_scaled(three, item(data, c + e), load(x, at, lanes))
            at = x_at + np.intp(item(indices, d + e)) * width
            four = add_scaled(four, item(data, d + e), load(x, at, lanes))
        one = _sum_from(one, indices, data, a + both, b, x, x_at, width, lanes)
        two = _sum_from(two, indices, data, b + both, c, x, x_at, width, lanes)
        three = _sum_from(three, indices, data, c + both, d, x, x_at, width, lanes)
        four = _sum_from(four, indices, data, d + both, indptr[r + 4], x, x_at, width, lanes)
        finish_row(one, r, places, last, bias, limits, z, z_at, width, lanes)
        finish_row(two, r + 1, places, last, bias, limits, z, z_at, width, lanes)
        finish_row(three, r + 2, places, last, bias, limits, z, z_at, width, lanes)
        finish_row(four, r + 3, places, last, bias, limits, z, z_at, width, lanes)
        r += 4
    _multiply_tile(weights, output, x, x_at, z, z_at, width, (r, rows[1]), lanes)


def multiply(weights, output, x, x_pitch, z, z_pitch, width, panels, rows, widest):
    """Set rows of z to W x, or add W x to them; finish those whose sum is complete.

    Parameters
    ----------
    weights : tuple
        (indptr, indices, data), CSR of m rows.
    output : tuple
        (places, last, bias, low, high, add_to): places (m,) int32 are the rows' places in z;
        where last (m,) uint8 is set, z becomes min(max(z + bias[place], low), high);
        add_to : add to z rather than overwrite.
    x, z : flat float arrays
        Panels of rows; the two share no memory.
    x_pitch, z_pitch : int
        Numbers from one panel to the next, of each.
    width : int
        Columns of a panel.
    panels, rows : tuple of int
        (first, stop) to work on.
    widest : int
        Columns of the largest tile: 16, 32 or 64.
    """
    for panel in range(panels[0], panels[1]):
        x_at, z_at = panel * x_pitch, panel * z_pitch
        end = x_at + width
        while x_at + 64 <= end and widest >= 64:
            _multiply_tile(weights, output, x, x_at, z, z_at, width, rows, 64)
            x_at, z_at = x_at + 64, z_at + 64
        while x_at + 32 <= end and widest >= 32:
            _multiply_tile(weights, output, x, x_at, z, z_at, width, rows, 32)
            x_at, z_at = x_at + 32, z_at + 32
        while x_at + 16 <= end:
            _multiply_tile(weights, output, x, x_at, z, z_at, width, rows, 16)
            x_at, z_at = x_at + 16, z_at + 16
        if x_at + 8 <= end:
            _multiply_four(weights, output, x, x_at, z, z_at, width, rows, 8)
            x_at, z_at = x_at + 8, z_at + 8
        if x_at + 4 <= end:
            _multiply_four(weights, output, x, x_at, z, z_at, width, rows, 4)
            x_at, z_at = x_at + 4, z_at + 4
        if x_at + 2 <= end:
            _multiply_four(weights, output, x, x_at, z, z_at, width, rows, 2)
            x_at, z_at = x_at + 2, z_at + 2
        if x_at < end:
            _multiply_four(weights, output, x, x_at, z, z_at, width, rows, 1)


@njit
def _transposed_from(total, sources, edges, data, first, stop, delta, at, width, lanes):
    for e in range(first, stop):
        row = load(delta, at + np.intp(item(sources, e)) * width, lanes)
        total = add_scaled(total, item(data, np.intp(item(edges, e))), row)
    return total


@njit(inline="always")
def _transposed_tile(transposed, data, delta, at, out, width, rows, lanes):
    starts, columns, sources, edges = transposed
    for r in range(rows[0], rows[1]):
        place = at + np.intp(columns[r]) * width
        total = load(out, place, lanes)
        total = _transposed_from(
            total, sources, edges, data, starts[r], starts[r + 1], delta, at, width, lanes
        )
        store(out, place, total)


@njit(inline="always")
def _transposed_two(transposed, data, delta, at, out, width, rows, lanes):
    """Two columns of W side by side, as `_multiply_four`."""
    starts, columns, sources, edges = transposed
    r = rows[0]
    while r + 2 <= rows[1]:
        a, b, end = starts[r], starts[r + 1], starts[r + 2]
        both = min(b - a, end - b)
        first, second = at + np.intp(columns[r]) * width, at + np.intp(columns[r + 1]) * width
        one, two = load(out, first, lanes), load(out, second, lanes)
        for e in range(both):
            row = load(delta, at + np.intp(item(sources, a + e)) * width, lanes)
            one = add_scaled(one, item(data, np.intp(item(edges, a + e))), row)
            row = load(delta, at + np.intp(item(sources, b + e)) * width, lanes)
            two = add_scaled(two, item(data, np.intp(item(edges, b + e))), row)
        one = _transposed_from(one, sources, edges, data, a + both, b, delta, at, width, lanes)
        two = _transposed_from(two, sources, edges, data, b + both, end, delta, at, width, lanes)
        store(out, first, one)
        store(out, second, two)
        r += 2
    _transposed_tile(transposed, data, delta, at, out, width, (r, rows[1]), lanes)


def add_transposed(transposed, data, delta, out, width, rows, widest):
    """Add Wᵀ delta to out, both one panel.

    Parameters
    ----------
    transposed : tuple
        (starts, columns, sources, edges): for column i of W, number columns[i], its weights are
        data[edges[e]] in the rows sources[e] of delta, e in starts[i]..starts[i+1]-1.
    data : (nnz,) float array
        The weights.
    delta, out : flat float arrays
        Rows of `width` numbers; out is added to.
    width : int
        Columns of the panel.
    rows : tuple of int
        (first, stop) of the columns of W to work on.
    widest : int
        Columns of the largest tile: 16, 32 or 64.
    """
    at = 0
    while at + 64 <= width and widest >= 64:
        _transposed_tile(transposed, data, delta, at, out, width, rows, 64)
        at += 64
    while at + 32 <= width and widest >= 32:
        _transposed_tile(transposed, data, delta, at, out, width, rows, 32)
        at += 32
    while at + 16 <= width:
        _transposed_tile(transposed, data, delta, at, out, width, rows, 16)
        at += 16
    if at + 8 <= width:
        _transposed_two(transposed, data, delta, at, out, width, rows, 8)
        at += 8
    if at + 4 <= width:
        _transposed_two(transposed, data, delta, at, out, width, rows, 4)
        at += 4
    if at + 2 <= width:
        _transposed_two(transposed, data, delta, at, out, width, rows, 2)
        at += 2
    if at < width:
        _transposed_two(transposed, data, delta, at, out, width, rows, 1)


def add_rows(product, output, z, z_pitch, width, panels):
    """Add a product to its rows of z; finish those whose sum is complete.

    Parameters
    ----------
    product : flat float array
        (panels, m, width), of all panels of z.
    output : tuple
        As in `multiply`; add_to plays no part.
    z : flat float array
        Panels of rows.
    z_pitch : int
        Numbers from one panel to the next.
    width : int
        Columns of a panel.
    panels : tuple of int
        (first, stop) to work on.
    """
    places, last, bias, low, high, _ = output
    for panel in range(panels[0], panels[1]):
        for r in range(len(places)):
            place = np.intp(places[r])
            at, source = panel * z_pitch + place * width, (panel * len(places) + r) * width
            for column in range(width):
                z[at + column] += product[source + column]
            if last[r]:
                for column in range(width):
                    total = clamp(load(z, at + column, 1), bias[place], low, high)
                    store(z, at + column, total)
