"""The Graph Challenge's inputs, made from MNIST by the rule that gives the official ones.

All M images lie side by side as one array of 28 rows and 28·M columns, which
is interpolated by FFT to `side` rows and side·M columns; a pixel is 1 where
the result's magnitude exceeds half its largest. The zero-padded spectrum keeps
its Nyquist lines on the negative side only, so the result is complex.

The interpolation separates. Along x it is done phase by phase: columns
x, x + side/g, x + 2·side/g, ... of an image (g = gcd(28, side)) lie 28/g
original pixels apart, so all of them in all images are one inverse FFT of the
shifted spectrum folded to g·M bins. Along y it is a (side, 28) matrix. Memory
is the half-spectra (448·28·M/2 bytes), one phase and the packed result.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import track
from scipy import fft

from datasets.idx import IMAGE_SIDE
from hpc.io.errors import InputError

THRESHOLD = 0.5
"""A pixel is 1 above this share of the largest magnitude."""
BLOCK_PIXELS = 1 << 21
"""About how many interpolated pixels are held unpacked at a time."""

Complexes = npt.NDArray[np.complex128]


def challenge_bits(
    images: npt.NDArray[np.uint8], neurons: int, first: int, quiet: bool = False
) -> npt.NDArray[np.uint8]:
    """Return the Challenge's inputs for the first images of a set, bit-packed.

    Parameters
    ----------
    images : (M, 28, 28) uint8, the whole set: neighbours and the maximum reach into each image.
    neurons : side squared; pixel (x, y) of an image is neuron x · side + y.
    first : images to keep.
    quiet : show no progress.

    Returns
    -------
    (neurons, ceil(first / 8)) uint8: image s is bit s % 8 of byte s // 8.

    Raises
    ------
    InputError : `neurons` is no square, or less than the images have.
    """
    side = math.isqrt(neurons)
    if side * side != neurons or side < IMAGE_SIDE:
        raise InputError(f"{neurons} neurons: expected a square of {IMAGE_SIDE} or more")
    spectra = row_spectra(images)
    phases = range(side // math.gcd(IMAGE_SIDE, side))
    shown = functools.partial(track, phases, console=Console(stderr=True), disable=quiet)
    largest = max(
        square.max()
        for phase in shown("interpolating: maximum")
        for square in _squares(phase_columns(spectra, side, phase), side)
    )
    bits = np.zeros((side, side, -(-first // 8)), np.uint8)
    for phase in shown("interpolating: pixels "):
        columns = phase_columns(spectra, side, phase)
        bits[phase :: len(phases)] = _phase_bits(columns, side, first, THRESHOLD**2 * largest)
    return bits.reshape(neurons, -1)


def row_spectra(images: npt.NDArray[np.uint8]) -> Complexes:
    """Return the spectra of the 28 rows that the images make side by side.

    Parameters
    ----------
    images : (M, 28, 28) uint8 array
        The whole set.

    Returns
    -------
    (28, 14·M + 1) complex128 array
        Scaled so that the real part of the sum of row · exp(2πi · frequency · x / 28M) is the row's
        value at x.
    """
    length = images.shape[0] * IMAGE_SIDE
    spectra = np.empty((IMAGE_SIDE, length // 2 + 1), np.complex128)
    for row in range(IMAGE_SIDE):
        spectra[row] = fft.rfft(images[:, row].astype(np.float64).ravel(), norm="forward")
    spectra[:, 1:-1] *= 2  # each stands for its negative frequency too
    return spectra


def phase_columns(spectra: Complexes, side: int, phase: int) -> Complexes:
    """Return the columns x = phase, phase + side/g, ... of every image, interpolated along x.

    Parameters
    ----------
    spectra : (28, 14·M + 1) complex128 array
        From `row_spectra`.
    side : int
        Pixels a side of the images that are made, 28 or more.
    phase : int
        0..side/g - 1, g = gcd(28, side).

    Returns
    -------
    (28, g·M) complex128 array
        Image by image, g columns each.
    """
    per_image = math.gcd(IMAGE_SIDE, side)
    stride = IMAGE_SIDE // per_image
    offset = phase * IMAGE_SIDE / side
    n_bins = 2 * (spectra.shape[1] - 1) // stride
    shift = np.exp(2j * np.pi * offset / (n_bins * stride) * np.arange(spectra.shape[1]))
    columns = np.empty((len(spectra), n_bins), np.complex128)
    for row, spectrum in enumerate(spectra):
        columns[row].real = _folded(spectrum * shift, n_bins).real
    places = offset + stride * np.arange(per_image)
    nyquist = np.tile(np.sin(np.pi * places), n_bins // per_image)
    columns.imag = -spectra[:, -1:].real * nyquist  # what its missing positive half leaves
    return columns


def _folded(spectrum: Complexes, n_bins: int) -> Complexes:
    """Return the sum of spectrum · exp(2πi · frequency · t / n_bins) for t = 0..n_bins-1."""
    folds = -(-len(spectrum) // n_bins)
    padded = np.pad(spectrum, (0, folds * n_bins - len(spectrum)))
    folded: Complexes = fft.ifft(padded.reshape(folds, n_bins).sum(axis=0), norm="forward")
    return folded


def height_matrix(side: int) -> Complexes:
    """Return the interpolation along y.

    Parameters
    ----------
    side : int
        Pixels a side of the images that are made, 28 or more.

    Returns
    -------
    (side, 28) complex128 array
        To be multiplied by columns of 28 pixels.
    """
    frequency = np.arange(-IMAGE_SIDE // 2, IMAGE_SIDE // 2)
    to_pixels = np.exp(2j * np.pi * np.outer(np.arange(side) / side, frequency))
    from_rows = np.exp(-2j * np.pi * np.outer(frequency, np.arange(IMAGE_SIDE) / IMAGE_SIDE))
    matrix: Complexes = to_pixels @ from_rows / IMAGE_SIDE
    return matrix


def _squares(columns: Complexes, side: int) -> Iterator[npt.NDArray[np.float64]]:
    """Yield the squared magnitudes of all pixels in blocks of whole images: (side, m·g) each."""
    matrix = height_matrix(side)
    images = max(8, BLOCK_PIXELS // (side * IMAGE_SIDE) // 8 * 8)
    step = images * math.gcd(IMAGE_SIDE, side)
    for start in range(0, columns.shape[1], step):
        pixels = matrix @ columns[:, start : start + step]
        yield pixels.real**2 + pixels.imag**2


def _phase_bits(columns: Complexes, side: int, first: int, level: float) -> npt.NDArray[np.uint8]:
    """Return the pixels of one phase above `level`: (g, side, ceil(first / 8)) uint8."""
    per_image = math.gcd(IMAGE_SIDE, side)
    packed = []
    for square in _squares(columns[:, : first * per_image], side):
        above = (square > level).reshape(side, -1, per_image)
        packed.append(np.packbits(above.transpose(2, 0, 1), axis=2, bitorder="little"))
    return np.concatenate(packed, axis=2)
