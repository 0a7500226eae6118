"""The activation arrays of a rank: how a batch is cut into panels, and where x_ext lives."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpc.io.shard import Shard
from hpc.spdnn.panels import aligned

Floats = npt.NDArray[np.floating]
PANEL_WIDTH = 64
"""Columns of a panel at most, where the batch divides well: a row's sums fit the registers."""
NARROWEST = 16
"""A divisor of the batch below this is not worth cutting it into panels."""


def panel_shape(batch: int) -> tuple[int, int]:
    """Return (panels, width) with panels · width = batch, so no column is padding.

    The width is the largest divisor of the batch up to PANEL_WIDTH; a batch without a
    divisor of at least NARROWEST is one panel.

    Parameters
    ----------
    batch : int
        Columns, at least 1.

    Returns
    -------
    tuple of two ints
        (panels, width).
    """
    if batch <= PANEL_WIDTH:
        return 1, batch
    width = max(w for w in range(1, PANEL_WIDTH + 1) if batch % w == 0)
    return (batch // width, width) if width >= NARROWEST else (1, batch)


def level_rows(shard: Shard) -> list[int]:
    """Return the rows of x_ext of every level: own and halo; the last level has no halo.

    Parameters
    ----------
    shard : Shard
        This rank's share.

    Returns
    -------
    list of L+1 ints
        n_ext of each level; n_out of the last.
    """
    return [layer.n_ext for layer in shard.layers] + [len(shard.ids[-1])]


def kept_levels(shard: Shard, batch: int, dtype: npt.DTypeLike) -> list[Floats]:
    """Return one (panels, n_ext, width) array for every level: training needs them all.

    Parameters
    ----------
    shard : Shard
        This rank's share.
    batch : int
        Columns.
    dtype : dtype-like
        Of the numbers.

    Returns
    -------
    list of L+1 (panels, n_ext, width) arrays
        Zeros, none sharing memory with another.
    """
    panels, width = panel_shape(batch)
    shapes = [(panels, rows, width) for rows in level_rows(shard)]
    return [aligned(int(np.prod(shape)), dtype).reshape(shape) for shape in shapes]


def turning_levels(shard: Shard, batch: int, dtype: npt.DTypeLike) -> list[Floats]:
    """Return the levels' arrays in two buffers used in turn: inference forgets.

    Parameters
    ----------
    shard : Shard
        This rank's share.
    batch : int
        Columns.
    dtype : dtype-like
        Of the numbers.

    Returns
    -------
    list of L+1 (panels, n_ext, width) arrays
        Zeros; those of even levels share memory, and those of odd ones.
    """
    panels, width = panel_shape(batch)
    rows = level_rows(shard)
    buffers = [aligned(max(rows[turn::2], default=0) * batch, dtype) for turn in (0, 1)]
    return [buffers[k % 2][: n * batch].reshape(panels, n, width) for k, n in enumerate(rows)]


def columns(array: Floats) -> Floats:
    """Return the columns of all panels side by side.

    Parameters
    ----------
    array : (panels, rows, width) array
        C-ordered.

    Returns
    -------
    (rows, panels · width) array
        C-ordered: a copy, or the same memory where there is one panel.
    """
    panels, rows, width = array.shape
    return np.ascontiguousarray(array.transpose(1, 0, 2)).reshape(rows, panels * width)


def set_columns(array: Floats, values: Floats) -> None:
    """Fill the first rows of a level; zeros beyond the batch.

    Parameters
    ----------
    array : (panels, n_ext, width) array
        Overwritten in its first `rows` rows.
    values : (rows, batch) array
        At most panels · width columns.
    """
    width = array.shape[2]
    rows = len(values)
    for panel in range(len(array)):
        piece = values[:, panel * width : (panel + 1) * width]
        array[panel, :rows, : piece.shape[1]] = piece
        array[panel, :rows, piece.shape[1] :] = 0
