"""Convolution and pooling as sparse matrices (im2col, Toeplitz). Pure, no torch.

Images are flat (C, H, W), C slowest, as torch flattens them. Paper: sparse-dnn-partitioning,
its section on convolution and pooling layers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]
Pair = tuple[int, int]


@dataclass(frozen=True)
class Sliding:
    """A window that slides over an image; pairs are (vertical, horizontal).

    padding : before the first and after the last pixel, of either axis.
    """

    kernel: Pair
    stride: Pair
    padding: tuple[Pair, Pair]
    dilation: Pair = (1, 1)

    def output(self, size: Pair) -> Pair:
        """Return the size of what comes out of an image.

        Parameters
        ----------
        size : (int, int)
            Height and width of the image.

        Returns
        -------
        (int, int)
            Height and width; below 1 where the kernel is larger than the padded image.
        """
        rows, columns = (
            (size[axis] + sum(self.padding[axis]) - self._reach(axis)) // self.stride[axis] + 1
            for axis in (0, 1)
        )
        return rows, columns

    def _reach(self, axis: int) -> int:
        return self.dilation[axis] * (self.kernel[axis] - 1) + 1


@dataclass(frozen=True)
class Taps:
    """Which pixel each place of a window sees: one entry each, out of (H, W) or (kh, kw) flat.

    output, kernel, pixel : (taps,) int64; places over the padding are left out.
    """

    output: Longs
    kernel: Longs
    pixel: Longs


def taps(window: Sliding, size: Pair) -> Taps:
    """Return the taps of a window over an image of this size.

    Parameters
    ----------
    window : Sliding
        That has a place in the image: see `Sliding.output`.
    size : (int, int)
        Height and width of the image.

    Returns
    -------
    Taps
        Of one channel.
    """
    axes = [_axis_taps(window, size[axis], window.output(size)[axis], axis) for axis in (0, 1)]
    (out_y, at_y, y), (out_x, at_x, x) = axes
    width = window.output(size)[1]
    return Taps(
        np.add.outer(out_y * width, out_x).ravel(),
        np.add.outer(at_y * window.kernel[1], at_x).ravel(),
        np.add.outer(y * size[1], x).ravel(),
    )


def _axis_taps(window: Sliding, size: int, n_out: int, axis: int) -> tuple[Longs, Longs, Longs]:
    """Return output place, place in the kernel and pixel along one axis."""
    out, at = np.divmod(np.arange(n_out * window.kernel[axis]), window.kernel[axis])
    pixel = out * window.stride[axis] + at * window.dilation[axis] - window.padding[axis][0]
    inside = (pixel >= 0) & (pixel < size)
    return out[inside], at[inside], pixel[inside]


def convolution(weight: Floats, window: Sliding, size: Pair, groups: int) -> sparse.csr_array:
    """Return the matrix of a convolution; weights that are zero (pruned) are left out.

    Parameters
    ----------
    weight : (C_out, C_in / groups, kh, kw) array
        As torch has it.
    window : Sliding
        Of the kernel (kh, kw).
    size : (int, int)
        Height and width of the input, H and W.
    groups : int
        Divides C_out and C_in.

    Returns
    -------
    (C_out · H' · W', C_in · H · W) CSR array
        Of weight's dtype.
    """
    c_out, c_group = weight.shape[:2]
    seen = taps(window, size)
    n_pixels, n_outputs = int(np.prod(size)), int(np.prod(window.output(size)))
    out = np.arange(c_out)[:, None, None]
    channel = np.arange(c_group)[None, :, None] + out // (c_out // groups) * c_group
    values = weight.reshape(c_out, c_group, -1)[:, :, seen.kernel]
    row = np.broadcast_to(out * n_outputs + seen.output, values.shape)
    column = channel * n_pixels + seen.pixel
    kept = values != 0
    shape = (c_out * n_outputs, c_group * groups * n_pixels)
    return sparse.csr_array((values[kept], (row[kept], column[kept])), shape=shape)


def pooling(n_channels: int, window: Sliding, size: Pair, share: Floats) -> sparse.csr_array:
    """Return the matrix of a weighted sum over each window of each channel.

    Parameters
    ----------
    n_channels : int
        C.
    window : Sliding
        That has a place in the image.
    size : (int, int)
        Height and width of the input, H and W.
    share : (H' · W',) float array
        What each pixel of a window counts.

    Returns
    -------
    (C · H' · W', C · H · W) CSR array
        Of share's dtype.
    """
    seen = taps(window, size)
    n_pixels, n_outputs = int(np.prod(size)), int(np.prod(window.output(size)))
    one = sparse.csr_array(
        (share[seen.output], (seen.output, seen.pixel)), shape=(n_outputs, n_pixels)
    )
    eye = sparse.eye_array(n_channels, dtype=share.dtype)
    return sparse.csr_array(sparse.kron(eye, one, format="csr"))


def average_share(window: Sliding, size: Pair, count_padding: bool, dtype: type) -> Floats:
    """Return 1 over the pixels that an average counts, per output place.

    Parameters
    ----------
    window : Sliding
        That has a place in the image.
    size : (int, int)
        Height and width of the input.
    count_padding : bool
        Whether pixels of the padding count as well: then all places have the same share.
    dtype : type
        Of the result, float32 or float64.

    Returns
    -------
    (H' · W',) array
        Of `dtype`.
    """
    if not count_padding:
        seen = taps(window, size)
        inside = np.bincount(seen.output, minlength=int(np.prod(window.output(size))))
        return (1 / np.maximum(inside, 1)).astype(dtype)
    return np.full(int(np.prod(window.output(size))), 1 / np.prod(window.kernel), dtype)
