import numpy as np
import pytest

from datasets import challenge_images
from datasets.challenge_images import challenge_bits, height_matrix, phase_columns, row_spectra
from hpc.io.errors import InputError


def interpolated(images, side):
    """Interpolate the images side by side by one zero-padded 2-D FFT: (side, side·M) complex."""
    lying = np.concatenate(list(images.astype(float)), axis=1)
    spectrum = np.fft.fftshift(np.fft.fft2(lying))  # the Nyquist lines come first: negative
    target = (side, side * len(images))
    wide = np.zeros(target, complex)
    corner = [n // 2 - m // 2 for n, m in zip(target, lying.shape, strict=True)]
    wide[tuple(slice(c, c + m) for c, m in zip(corner, lying.shape, strict=True))] = spectrum
    return np.fft.ifft2(np.fft.ifftshift(wide)) * (wide.size / lying.size)


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).integers(0, 256, (11, 28, 28), dtype=np.uint8)


@pytest.mark.parametrize("side", [28, 29, 32, 49, 64])
def test_interpolation_is_the_zero_padded_fft(images, side):
    wanted = interpolated(images, side)
    spectra, n_phases = row_spectra(images), side // np.gcd(28, side)
    found = np.empty((side, 11, side), complex)
    for phase in range(n_phases):
        block = height_matrix(side) @ phase_columns(spectra, side, phase)
        found[:, :, phase::n_phases] = block.reshape(side, 11, -1)
    np.testing.assert_allclose(found.reshape(side, -1), wanted, atol=1e-9)


@pytest.mark.parametrize("first", [3, 8, 11])
@pytest.mark.parametrize("side", [32, 64])
def test_bits_are_column_major_above_half_the_largest(images, side, first, monkeypatch):
    monkeypatch.setattr(challenge_images, "BLOCK_PIXELS", 1)  # blocks of eight images
    size = np.abs(interpolated(images, side))
    above = (size > size.max() / 2).reshape(side, 11, side)[:, :first]
    features = above.transpose(2, 0, 1).reshape(side * side, first)
    wanted = np.packbits(features, axis=1, bitorder="little")
    np.testing.assert_array_equal(challenge_bits(images, side * side, first), wanted)


@pytest.mark.parametrize("neurons", [1000, 27 * 27])
def test_neurons_must_be_a_square_of_28_or_more(images, neurons):
    with pytest.raises(InputError, match="expected a square of 28 or more"):
        challenge_bits(images, neurons, 11)
