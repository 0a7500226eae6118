"""Mean and standard deviation of pixels by channel, as images files keep them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

LEVELS = 256


def channel_moments(
    blocks: Iterable[npt.NDArray[np.uint8]],
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return mean and deviation of pixels / 255 per channel, exact, from blocks of images.

    Parameters
    ----------
    blocks : iterable of (n, channels, height, width) uint8 arrays
        One or more; only their histograms are kept.

    Returns
    -------
    mean : tuple of float
        A number a channel, in [0, 1].
    deviation : tuple of float
        A number a channel; 1 for a channel of one value.
    """
    counts: npt.NDArray[np.int64] = sum(map(_histogram, blocks), np.zeros((1, LEVELS), np.int64))
    values = np.arange(LEVELS) / (LEVELS - 1)
    share = counts / counts.sum(axis=1, keepdims=True)
    mean = share @ values
    deviation = np.sqrt((share * (values - mean[:, None]) ** 2).sum(axis=1))
    return tuple(mean.tolist()), tuple(np.where(deviation > 0, deviation, 1.0).tolist())


def _histogram(block: npt.NDArray[np.uint8]) -> npt.NDArray[np.int64]:
    channels = block.shape[1]
    flat = block.transpose(1, 0, 2, 3).reshape(channels, -1)
    return np.stack([np.bincount(channel, minlength=LEVELS) for channel in flat])
