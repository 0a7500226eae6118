"""Images, or samples of any shape, from memory, read as an images file is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hpc.io.arguments import as_array, shown
from hpc.io.errors import InputError
from hpc.io.images import SPLITS, ImagesFile, ImageTraits, open_images
from hpc.io.samples import check_labels

Array = npt.NDArray[Any]
Pair = tuple[Array, Array]
Data = str | os.PathLike[str] | Pair | Mapping[str, Pair]
"""An images file; or (images, labels) to train on; or those of 'train' and 'test' by name."""


@dataclass(frozen=True)
class ArrayTraits(ImageTraits):
    """Traits of samples that need not be square images. sample_shape : of one."""

    sample_shape: tuple[int, ...] = ()

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """As it was given."""
        return self.sample_shape


class ImageArrays(ImagesFile):
    """Images in memory.

    Parameters
    ----------
    data : (images, labels) to train on, or these by the names 'train' and 'test'. images : (n,
        channels, side, side) uint8, normalised by mean and spread of each channel over all that
        train; or (n, ...) float32 or float64, taken as they are. labels : (n,) whole numbers
        from 0. None is shifted or mirrored.

    Raises
    ------
    InputError : other shapes or dtypes, no images to train on.
    """

    def __init__(self, data: Pair | Mapping[str, Pair]) -> None:
        given = data if isinstance(data, Mapping) else {"train": data}
        if "train" not in given or not set(given) <= set(SPLITS):
            raise InputError(f"data: has {', '.join(map(str, given)) or 'nothing'}, expected "
                             "'train' and, if there are any, 'test'")  # fmt: skip
        self._file, self.path, self._offsets = None, "data", {}
        self._arrays = {split: _images(split, pair) for split, pair in given.items()}
        self._labels = {
            split: _labels(split, pair[1], len(self._arrays[split]))
            for split, pair in given.items()
        }
        self.sizes = {split: len(labels) for split, labels in self._labels.items()}
        first = self._arrays["train"]
        for split, images in self._arrays.items():
            if images.shape[1:] != first.shape[1:] or images.dtype != first.dtype:
                raise InputError(
                    f"data: {split} images are {images.shape[1:]} {images.dtype}, those to train "
                    f"on {first.shape[1:]} {first.dtype}"
                )
        n_classes = 1 + max(int(labels.max()) for labels in self._labels.values())
        self.traits = _traits(first, tuple(map(str, range(n_classes))))

    def pixels(self, split: str) -> Array:
        """Return all images of a split.

        Parameters
        ----------
        split : 'train' or 'test'.

        Returns
        -------
        (n, ...) as they were given, not copied.
        """
        return self._arrays[split]


def _images(split: str, pair: Pair) -> Array:
    if not isinstance(pair, tuple) or len(pair) != 2:
        raise InputError(
            f"data: {split}: {shown(pair)}, expected an images file or a tuple (images, labels)"
        )
    images = as_array(f"data: {split} images", pair[0], "an array (n, ...)")
    square = images.ndim == 4 and images.shape[2] == images.shape[3]
    floats = images.dtype.name in ("float32", "float64") and images.ndim > 1
    if not images.size or not (floats or (images.dtype == np.uint8 and square)):
        raise InputError(
            f"data: {split} images are {images.shape} {images.dtype}, expected (n, channels, side, "
            "side) uint8 or (n, ...) float32 or float64"
        )
    if floats and not np.isfinite(images).all():
        raise InputError(f"data: {split} images are not all finite")
    return images


def _labels(split: str, labels: Array, n_images: int) -> npt.NDArray[np.int32]:
    found = as_array(f"data: {split} labels", labels, f"({n_images},) integers")
    if found.shape != (n_images,) or found.dtype.kind not in "iu":
        raise InputError(
            f"data: {split} labels are {found.shape} {found.dtype}, expected ({n_images},) integers"
        )
    check_labels(found, 1 << 31, f"data: {split}")
    return found.astype(np.int32)


def _traits(images: Array, classes: tuple[str, ...]) -> ArrayTraits:
    shape = images.shape[1:]
    if images.dtype != np.uint8:  # 255 · std is 1: the numbers stay what they are
        return ArrayTraits(classes, shape[-1], (0.0,), (1 / 255,), 0, False, shape)
    mean = images.mean(axis=(0, 2, 3), dtype=np.float64) / 255
    spread = images.std(axis=(0, 2, 3), dtype=np.float64) / 255
    std = np.where(spread > 0, spread, 1.0)
    return ArrayTraits(
        classes, shape[-1], tuple(mean.tolist()), tuple(std.tolist()), 0, False, shape
    )


def images_of(data: Data) -> contextlib.AbstractContextManager[ImagesFile]:
    """Open images, wherever they are.

    Parameters
    ----------
    data : a path, or arrays: see `ImageArrays`.

    Returns
    -------
    A context that yields them.

    Raises
    ------
    InputError : see `open_images` and `ImageArrays`.
    """
    if isinstance(data, str | os.PathLike):
        return open_images(data)
    return contextlib.nullcontext(ImageArrays(data))
