"""The loops that find, compare and gather columns, to be compiled by `hpc.spdnn.compiled`.

Arrays are flat; a panel starts `pitch` numbers after the one before, its rows are
`width` numbers. Equal means of the same bits.
"""

# mypy: disable-error-code="no-untyped-def"

from __future__ import annotations

import numpy as np
from numba import njit, types

from hpc.spdnn.vector_arithmetic import add_scaled, or_bits
from hpc.spdnn.vectors import load, store, zeros


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
    single = dtype == np.float32
    floats = (types.float32 if single else types.float64)[::1]
    bits = types.uint32 if single else types.uint64
    facts, integer = bits[:, ::1], types.intp
    columns, flags = types.int32[::1], types.uint8[::1]
    array = (bits[::1], integer)
    span = types.UniTuple(integer, 3)
    return {
        "column_facts": (floats, integer, integer, integer, floats, span, floats, integer),
        "find_first": (facts, columns, columns),
        "find_different": (*array, integer, integer, facts, columns, flags),
        "take_columns": (*array, integer, columns, *array, integer, integer, integer),
    }


@njit(inline="always")
def _facts_tile(z, start, n_rows, width, keys, facts, at, columns, lanes):
    one, two, used = zeros(z, lanes), zeros(z, lanes), zeros(z, lanes)
    for row in range(n_rows):
        numbers = load(z, start + row * width, lanes)
        one = add_scaled(one, keys[row], numbers)
        two = add_scaled(two, keys[n_rows + row], numbers)
        used = or_bits(used, numbers)
    store(facts, at, one)
    store(facts, columns + at, two)
    store(facts, 2 * columns + at, used)


def column_facts(z, pitch, n_rows, width, keys, panels, facts, columns):
    """Set facts, (3, columns): two sums of key · number over the rows, and all bits or-ed.

    Parameters
    ----------
    z : flat float array
        Own rows of a level.
    pitch, n_rows, width : int
        Of z, see above: its rows in a panel, too.
    keys : flat float array
        (2, n_rows): a key of each row for the first sum, then those for the second.
    panels : tuple of int
        (first, stop, step) to look at.
    facts : flat float array
        (3, columns), overwritten.
    columns : int
        Those of `panels`, all together.
    """
    at = 0
    for panel in range(panels[0], panels[1], panels[2]):
        start = panel * pitch
        end = start + width
        while start + 64 <= end:
            _facts_tile(z, start, n_rows, width, keys, facts, at, columns, 64)
            start, at = start + 64, at + 64
        while start + 8 <= end:
            _facts_tile(z, start, n_rows, width, keys, facts, at, columns, 8)
            start, at = start + 8, at + 8
        while start < end:
            _facts_tile(z, start, n_rows, width, keys, facts, at, columns, 1)
            start, at = start + 1, at + 1


def find_first(facts, table, first):
    """Set first[c] to the first column with the same facts as column c.

    Parameters
    ----------
    facts : (3, columns) uint32 or uint64 array
        The bits of what `column_facts` gives, summed over the ranks.
    table : (2ⁿ,) int32 array
        At least twice as long as there are columns; overwritten.
    first : (columns,) int32 array
        Overwritten.
    """
    table[:] = -1
    mask = len(table) - 1
    for column in range(facts.shape[1]):
        one, two, used = facts[0, column], facts[1, column], facts[2, column]
        mixed = (np.uint64(one) ^ np.uint64(two) << np.uint64(17)) * np.uint64(0x9E3779B97F4A7C15)
        slot = np.intp(mixed >> np.uint64(33)) & mask
        while True:
            other = table[slot]
            if other < 0:
                table[slot] = first[column] = column
                break
            if facts[0, other] == one and facts[1, other] == two and facts[2, other] == used:
                first[column] = other
                break
            slot = (slot + 1) & mask


def find_different(z, pitch, n_rows, width, facts, first, different):
    """Set different[c] where column c is not equal to column first[c], in these rows.

    Columns whose facts say that nothing is set are not looked at.

    Parameters
    ----------
    z : flat uint32 or uint64 array
        The bits of own rows of a level.
    pitch, n_rows, width : int
        Of z, see above.
    facts : (3, columns) uint32 or uint64 array
        As for `find_first`.
    first : (columns,) int32 array
        From `find_first`.
    different : (columns,) uint8 array
        Overwritten: 0 or 1.
    """
    mine, other = np.empty(width, np.intp), np.empty(width, np.intp)
    changed = np.empty(width, z.dtype)
    different[:] = 0
    for panel in range(len(first) // width):
        count, at = 0, panel * width
        for column in range(width):
            twin = first[at + column]
            if twin != at + column and facts[2, at + column] != 0:
                mine[count] = panel * pitch + column
                other[count] = twin // width * pitch + twin % width
                changed[count] = 0
                count += 1
        for row in range(n_rows):
            for k in range(count):
                changed[k] |= z[mine[k] + row * width] ^ z[other[k] + row * width]
        for k in range(count):
            different[at + mine[k] - panel * pitch] = changed[k] != 0


def take_columns(source, s_pitch, s_width, kept, target, t_pitch, t_width, t_start, n_rows):
    """Set columns t_start.. of the target to columns `kept` of the source, in n_rows rows.

    Parameters
    ----------
    source, target : flat uint32 or uint64 arrays
        The bits of the numbers.
    s_pitch, s_width, t_pitch, t_width : int
        Pitch and width of the panels of each.
    kept : (m,) int32 array
        Columns of the source, counted through all panels.
    t_start : int
        Column of the target, counted likewise.
    n_rows : int
        First rows of each panel, which are copied.
    """
    places = np.empty(t_width, np.intp)
    done = 0
    while done < len(kept):
        column = t_start + done
        count = min(t_width - column % t_width, len(kept) - done)
        for j in range(count):
            places[j] = kept[done + j] // s_width * s_pitch + kept[done + j] % s_width
        start = column // t_width * t_pitch + column % t_width
        for row in range(n_rows):
            for j in range(count):
                target[start + row * t_width + j] = source[places[j] + row * s_width]
        done += count
