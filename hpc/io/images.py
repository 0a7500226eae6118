"""The images file: training and test images with labels, as pixels or as encoded (JPEG) bytes.

Layout (format ``relaycut-images``, version 1). Sample-major, as batches are drawn by sample:

- attributes ``classes`` (names, JSON), ``side`` (pixels a side of what the network sees),
  ``mean`` and ``std`` (channels,) float64 of the training pixels / 255, ``pad`` (pixels of
  zeros around a training image before a random crop) and ``flip`` (mirrored at random or not).
- per split ``train`` and, optional, ``test``: ``SPLIT/labels`` (n,) int32, and either
  ``SPLIT/pixels`` (n, channels, side, side) uint8 or ``SPLIT/encoded`` (bytes,) uint8, the
  images' files one after another, of any size, with ``SPLIT/offsets`` (n+1,) int64.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from hpc.io import container
from hpc.io.errors import FormatError, InputError
from hpc.io.samples import check_labels

KIND = "images"
VERSION = 1
SPLITS = ("train", "test")
BUFFER_BYTES = 1 << 24
"""Bytes of encoded images gathered before they are written."""
HELD_BYTES = 1 << 28
"""Encoded splits of up to this size are held in memory: reading single images takes longer."""


@dataclass(frozen=True)
class ImageTraits:
    """What holds for all images of a file.

    classes : names, by label. side : pixels. mean, std : per channel, of pixels / 255.
    pad, flip : of training images, see above.
    """

    classes: tuple[str, ...]
    side: int
    mean: tuple[float, ...]
    std: tuple[float, ...]
    pad: int
    flip: bool

    @property
    def shape(self) -> tuple[int, int, int]:
        """(channels, side, side)."""
        return (len(self.mean), self.side, self.side)


class ImagesWriter:
    """Fills an images file split by split; see `create_images`.

    Parameters
    ----------
    file : from ``container.create``.
    traits : of all images.
    """

    def __init__(self, file: h5py.File, traits: ImageTraits) -> None:
        self._file, self._traits = file, traits

    def put_pixels(
        self, split: str, pixels: npt.NDArray[np.uint8], labels: npt.NDArray[np.integer]
    ) -> None:
        """Store a split as pixels, (n, channels, side, side).

        Parameters
        ----------
        split : 'train' or 'test'.
        pixels : (n, channels, side, side) uint8.
        labels : (n,) whole numbers, 0..classes-1.
        """
        if pixels.dtype != np.uint8 or pixels.shape[1:] != self._traits.shape:
            raise InputError(
                f"{split}: images are {pixels.shape[1:]} {pixels.dtype}, "
                f"expected {self._traits.shape} uint8"
            )
        self._put_labels(split, labels, len(pixels))
        container.put(self._file, f"{split}/pixels", pixels)

    def put_encoded(
        self, split: str, files: Iterable[bytes], labels: npt.NDArray[np.integer]
    ) -> None:
        """Store a split as the contents of image files, one a label.

        Parameters
        ----------
        split : 'train' or 'test'.
        files : contents of n image files.
        labels : (n,) whole numbers, 0..classes-1.
        """
        data = container.appendable(self._file, f"{split}/encoded", np.uint8)
        lengths, buffer = [], bytearray()
        for content in files:
            lengths.append(len(content))
            buffer += content
            if len(buffer) >= BUFFER_BYTES:
                container.append(data, np.frombuffer(bytes(buffer), np.uint8))
                buffer.clear()
        container.append(data, np.frombuffer(bytes(buffer), np.uint8))
        self._put_labels(split, labels, len(lengths))
        offsets = np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))
        container.put(self._file, f"{split}/offsets", offsets)

    def _put_labels(self, split: str, labels: npt.NDArray[np.integer], n_images: int) -> None:
        if len(labels) != n_images or not n_images:
            raise InputError(f"{split}: {len(labels)} labels for {n_images} images")
        check_labels(labels, len(self._traits.classes), split)
        container.put(self._file, f"{split}/labels", labels.astype(np.int32))


@contextlib.contextmanager
def create_images(path: str | os.PathLike[str], traits: ImageTraits) -> Iterator[ImagesWriter]:
    """Write an images file; yields its writer, renames it into place at the end.

    Parameters
    ----------
    path : file to write.
    traits : of all images.
    """
    with container.create(path, KIND, VERSION) as file:
        container.put_text(file, "classes", json.dumps(traits.classes))
        for name in ("side", "mean", "std", "pad", "flip"):
            file.attrs[name] = getattr(traits, name)
        yield ImagesWriter(file, traits)


@contextlib.contextmanager
def open_images(path: str | os.PathLike[str]) -> Iterator[ImagesFile]:
    """Open an images file for reading; see `container.opened` for what it raises.

    Parameters
    ----------
    path : images file.
    """
    with container.opened(path, KIND, VERSION) as file:
        yield ImagesFile(file, path)


class ImagesFile:
    """An open images file; may be read from any one thread at a time.

    Parameters
    ----------
    file : open, of this format.
    path : for messages.

    Attributes
    ----------
    path : as given.
    traits : ImageTraits
    sizes : images per split that there is.
    """

    def __init__(self, file: h5py.File, path: str | os.PathLike[str]) -> None:
        self._file, self.path = file, str(path)
        self.traits = _read_traits(file, self.path)
        self._offsets: dict[str, npt.NDArray[np.int64]] = {}
        self._encoded: dict[str, h5py.Dataset | npt.NDArray[np.uint8]] = {}
        self._pixels: dict[str, npt.NDArray[np.uint8]] = {}
        self._labels = {split: self._read_labels(split) for split in SPLITS if split in file}
        self.sizes = {split: len(labels) for split, labels in self._labels.items()}
        if "train" not in self.sizes:
            raise FormatError(f"{self.path}: has no training images ('train')")
        for split, size in self.sizes.items():
            self._check_images(split, size)

    def _read_labels(self, split: str) -> npt.NDArray[np.int32]:
        labels = container.dataset(self._file, f"{split}/labels", ("int32",), (None,))[:]
        if not len(labels):
            raise FormatError(f"{self.path}: {split} holds no images")
        check_labels(labels, len(self.traits.classes), f"{self.path}: {split}")
        return labels

    def _check_images(self, split: str, size: int) -> None:
        if f"{split}/pixels" in self._file:
            shape = (size, *self.traits.shape)
            container.dataset(self._file, f"{split}/pixels", ("uint8",), shape)
            return
        data = container.dataset(self._file, f"{split}/encoded", ("uint8",), (None,))
        offsets = container.dataset(self._file, f"{split}/offsets", ("int64",), (size + 1,))[:]
        if offsets[0] != 0 or offsets[-1] != len(data) or (np.diff(offsets) <= 0).any():
            raise FormatError(f"{self.path}: '{split}/offsets' must ascend from 0 to {len(data)}")
        self._offsets[split], self._encoded[split] = offsets, data

    def is_encoded(self, split: str) -> bool:
        """Return whether a split is stored as image files rather than as pixels.

        Parameters
        ----------
        split : 'train' or 'test'.

        Returns
        -------
        False for pixels.
        """
        return split in self._offsets

    def labels(self, split: str) -> npt.NDArray[np.int32]:
        """Return the labels of a split, (n,) int32.

        Parameters
        ----------
        split : 'train' or 'test'.

        Returns
        -------
        (n,) int32.

        Raises
        ------
        InputError : the file has no such split.
        """
        if split not in self._labels:
            raise InputError(f"{self.path}: has no {split} images")
        return self._labels[split]

    def pixels(self, split: str) -> npt.NDArray[np.uint8]:
        """Return all pixels of a split that is not encoded, (n, channels, side, side) uint8.

        Parameters
        ----------
        split : 'train' or 'test'.

        Returns
        -------
        (n, channels, side, side) uint8, read-only: read once and held while the file is open.
        """
        if split not in self._pixels:
            self._pixels[split] = self._file[f"{split}/pixels"][:]
            self._pixels[split].flags.writeable = False
        return self._pixels[split]

    def encoded(self, split: str, index: int) -> bytes:
        """Return the content of image file `index` of a split that is encoded.

        Parameters
        ----------
        split : 'train' or 'test'.
        index : of the image, from 0.

        Returns
        -------
        The bytes of its file.
        """
        data = self._encoded[split]
        if isinstance(data, h5py.Dataset) and len(data) <= HELD_BYTES:
            data = self._encoded[split] = data[:]
        start, stop = self._offsets[split][index : index + 2]
        return data[start:stop].tobytes()


def _read_traits(file: h5py.File, path: str) -> ImageTraits:
    try:
        return _traits(file, path)
    except FormatError:
        raise
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise FormatError(
            f"{path}: an attribute among side, pad, flip, mean and std is missing or no number"
        ) from error


def _traits(file: h5py.File, path: str) -> ImageTraits:
    classes: Any = container.mapping(file, "classes")
    mean, std = (np.atleast_1d(file.attrs[name]).astype(float) for name in ("mean", "std"))
    side, pad = int(file.attrs["side"]), int(file.attrs["pad"])
    if not classes or side < 1 or not 0 <= pad <= side:
        raise FormatError(f"{path}: needs at least one class, a side from 1 and a pad of 0..side")
    if not (len(mean) == len(std) > 0 and np.isfinite(mean).all() and (std > 0).all()):
        raise FormatError(f"{path}: mean {mean} and std {std} must be finite, std above 0")
    return ImageTraits(
        tuple(map(str, classes)),
        int(file.attrs["side"]),
        tuple(mean.tolist()),
        tuple(std.tolist()),
        pad,
        bool(file.attrs["flip"]),
    )
