"""Batches of images as a function of (epoch, step): the same on every rank, however it is read.

A rank decodes and augments only its own rows of a batch. Shuffling is keyed by (seed,
epoch), augmentation by (seed, epoch, sample).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import numpy as np
import numpy.typing as npt
import torch

from hpc.io.errors import InputError
from hpc.io.images import ImagesFile
from hpc.pipebd import augment
from hpc.pipebd.rng import Draw, numpy_generator

Indices = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Batch:
    """A share of a batch.

    Attributes
    ----------
    images : (n_share, channels, side, side) tensor
        Normalised by the file's traits. Samples from arrays keep their shape, (n_share, ...).
    labels : (n_share,) int64 tensor
        0..classes-1.
    """

    images: torch.Tensor
    labels: torch.Tensor


def hold_out(n_images: int, share: float, seed: int) -> tuple[Indices, Indices]:
    """Split images 0..n-1 at random into (kept, held out), each ascending.

    Parameters
    ----------
    n_images : int
        How many there are.
    share : float
        To be held out, in (0, 1); rounded to whole images.
    seed : int
        The run's, >= 0; the same split for the same seed.

    Returns
    -------
    kept : (n,) int64 array
        Indices.
    held : (n,) int64 array
        All others.

    Raises
    ------
    InputError : a share that leaves one of the two empty.
    """
    n_held = round(n_images * share) if isfinite(share) else 0
    if not 0 < n_held < n_images:
        raise InputError(f"holding out {share:g} of {n_images} images leaves nothing on one side")
    order = numpy_generator(Draw.HOLD_OUT, seed).permutation(n_images)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


class ImageBatches:
    """The batches of one split.

    Parameters
    ----------
    file : ImagesFile
        Open; a split that is stored as pixels is read whole, once for all batches of the file.
    split : str
        'train' or 'test'.
    batch : int
        Images of a whole batch.
    seed : int
        Of shuffling and augmentation.
    training : bool
        Shuffled, augmented, all batches whole; else in order, as they are, and the last batch may
        be short.
    rows : range, optional
        This rank's rows of the whole batch; all unless given.
    indices : (n,) integer array, optional
        The images to draw from, ascending; all unless given.
    dtype : torch.dtype
        Of the images that are loaded.

    Attributes
    ----------
    steps : int
        Batches of an epoch.

    Raises
    ------
    InputError : no such split; fewer images than one batch takes.
    """

    def __init__(
        self,
        file: ImagesFile,
        split: str,
        batch: int,
        seed: int,
        *,
        training: bool,
        rows: range | None = None,
        indices: Indices | None = None,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self._file, self._split, self._seed, self._training = file, split, seed, training
        self._labels = file.labels(split)
        self._indices = np.arange(len(self._labels)) if indices is None else indices
        self._batch, self._rows = batch, range(batch) if rows is None else rows
        self._pixels = None if file.is_encoded(split) else file.pixels(split)
        self._dtype = dtype
        self._scale, self._shift = _normalisation(file, dtype)
        self._order: tuple[int, Indices] | None = None
        n_images = len(self._indices)
        self.steps = n_images // batch if training else -(-n_images // batch)
        if self.steps < 1:
            raise InputError(f"{file.path}: {n_images} {split} images, a batch takes {batch}")

    def load(self, epoch: int, step: int) -> Batch:
        """Return this rank's share of a batch.

        Parameters
        ----------
        epoch : int
            From 0; shuffling is keyed by seed and epoch, augmentation by the image's index too.
        step : int
            0..steps-1.

        Returns
        -------
        Batch
            In host memory; empty where a short batch ends before the rank's rows.

        Raises
        ------
        InputError : an image that cannot be decoded.
        """
        first = step * self._batch
        chosen = self._epoch_order(epoch)[first : first + self._batch]
        mine = chosen[self._rows.start : self._rows.stop]
        dtype = np.uint8 if self._pixels is None else self._pixels.dtype
        pixels = np.empty((len(mine), *self._file.traits.shape), dtype)
        for image, index in zip(pixels, mine, strict=True):
            image[:] = self._image(epoch, int(index))
        images = torch.from_numpy(pixels).to(self._dtype)
        labels = torch.from_numpy(self._labels[mine].astype(np.int64))
        return Batch(images.mul_(self._scale).sub_(self._shift), labels)

    def _epoch_order(self, epoch: int) -> Indices:
        if not self._training:
            return self._indices
        if self._order is None or self._order[0] != epoch:
            generator = numpy_generator(Draw.SHUFFLE, self._seed, epoch)
            self._order = (epoch, generator.permutation(self._indices))
        return self._order[1]

    def _image(self, epoch: int, index: int) -> augment.Pixels:
        """Return one image as the network is to see it, (channels, side, side) uint8."""
        generator = None
        if self._training:
            generator = numpy_generator(Draw.AUGMENT, self._seed, epoch, index)
        traits = self._file.traits
        pixels, whole = self._stored(index, generator)
        if generator is not None and whole and traits.pad:
            pixels = augment.shifted(pixels, traits.pad, generator)
        if generator is not None and traits.flip:
            pixels = augment.mirrored(pixels, generator)
        return pixels

    def _stored(
        self, index: int, generator: np.random.Generator | None
    ) -> tuple[augment.Pixels, bool]:
        """Return an image at the right size and whether it had that size when it was stored."""
        if self._pixels is not None:
            return self._pixels[index], True
        where = f"{self._file.path}: {self._split} image {index}"
        image = augment.decode(self._file.encoded(self._split, index), where)
        side = self._file.traits.side
        if image.size == (side, side):
            return augment.as_pixels(image), True
        return augment.fitted(image, side, generator), False


def _normalisation(file: ImagesFile, dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """Return scale and shift, (channels, 1, 1), so that x · scale − shift is normalised."""
    ones = (1,) * (len(file.traits.shape) - 1)
    mean, std = (
        torch.tensor(values, dtype=torch.float64).view(-1, *ones)
        for values in (file.traits.mean, file.traits.std)
    )
    return (1 / (255 * std)).to(dtype), (mean / std).to(dtype)
