"""Which images are for what, and a rank's share of them, loaded as it is needed.

Of a split that is stored as image files a rank decodes only its own rows; one that is stored as
pixels it holds whole, once, for training, architecture and validation together.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch

from hpc.io.errors import InputError
from hpc.io.images import ImagesFile
from hpc.pipebd.data import Batch, ImageBatches, Indices, hold_out
from hpc.pipebd.prefetch import prefetched
from hpc.pipebd.rounds import Epoch, architecture_rounds_before
from hpc.pipebd.work import Round

Key = TypeVar("Key")


@dataclass(frozen=True)
class Images:
    """What images there are for what. Equal on all ranks; reads none of them.

    Attributes
    ----------
    file : ImagesFile
        Open.
    batch : int
        Images of a training batch.
    seed : int
        Of all draws.
    dtype : torch.dtype
        Of the images that are loaded.
    training : (n,) integer array, or None
        Indices of the training images that train weights; None for all.
    architecture : (n,) integer array, or None
        Those that train an architecture (search); None for none.
    validation : (split, indices), or None
        Of the images to validate on; indices None for all of the split.
    """

    file: ImagesFile
    batch: int
    seed: int
    dtype: torch.dtype
    training: Indices | None = None
    architecture: Indices | None = None
    validation: tuple[str, Indices | None] | None = None

    @property
    def n_training(self) -> int:
        """How many images train weights."""
        return self.file.sizes["train"] if self.training is None else len(self.training)

    @property
    def n_validation(self) -> int:
        """How many images there are to validate on."""
        if self.validation is None:
            return 0
        split, indices = self.validation
        return self.file.sizes[split] if indices is None else len(indices)

    @property
    def steps(self) -> int:
        """Training steps of an epoch: whole batches."""
        return self.n_training // self.batch

    def digest(self) -> str:
        """Return a digest of the labels and of which images are for what; reads no image.

        Returns
        -------
        str
            16 hexadecimal digits: the same on all ranks with the same data and options.
        """
        found = hashlib.blake2b(repr((self.file.traits, self.batch)).encode(), digest_size=8)
        for split in sorted(self.file.sizes):
            found.update(self.file.labels(split).tobytes())
        held_out = None if self.validation is None else self.validation[1]
        for indices in (self.training, self.architecture, held_out):
            found.update(b"" if indices is None else np.asarray(indices, np.int64).tobytes())
        return found.hexdigest()

    def training_batches(self, rows: range | None = None) -> ImageBatches:
        """Return the training batches, shuffled and augmented.

        Parameters
        ----------
        rows : range, optional
            Of each; all unless given.

        Returns
        -------
        ImageBatches
            Whole batches only.

        Raises
        ------
        InputError : fewer images than a batch takes.
        """
        return self._batches("train", self.training, rows, training=True)

    def architecture_batches(self, rows: range | None = None) -> ImageBatches:
        """Return the batches of architecture rounds, shuffled and augmented.

        Parameters
        ----------
        rows : range, optional
            Of each; all unless given.

        Returns
        -------
        ImageBatches
            Of the images in `architecture`.

        Raises
        ------
        InputError : there are none; fewer images than a batch takes.
        """
        if self.architecture is None:
            raise InputError(f"{self.file.path}: no images are kept to train an architecture")
        return self._batches("train", self.architecture, rows, training=True)

    def validation_batches(self, rows: range | None = None) -> ImageBatches:
        """Return the batches to validate on, in order; the last may be short.

        Parameters
        ----------
        rows : range, optional
            Of each; all unless given.

        Returns
        -------
        ImageBatches
            Not augmented.

        Raises
        ------
        InputError : there are no images to validate on.
        """
        if self.validation is None:
            raise InputError(f"{self.file.path}: has no images to validate on")
        return self._batches(*self.validation, rows, training=False)

    def _batches(
        self, split: str, indices: Indices | None, rows: range | None, *, training: bool
    ) -> ImageBatches:
        return ImageBatches(
            self.file,
            split,
            self.batch,
            self.seed,
            training=training,
            rows=rows,
            indices=indices,
            dtype=self.dtype,
        )


def split_images(
    file: ImagesFile,
    batch: int,
    seed: int,
    dtype: torch.dtype,
    *,
    validation: float = 0.0,
    architecture: float = 0.0,
) -> Images:
    """Deal the training images out.

    Parameters
    ----------
    file : ImagesFile
        Open.
    batch : int
        Images of a training batch.
    seed : int
        Of all draws.
    dtype : torch.dtype
        Of the images that are loaded.
    validation : float
        Share held out to validate on; 0 takes the test images, if there are any.
    architecture : float
        Share, of what is left, that trains the architecture of a search; 0 for none.

    Returns
    -------
    Images
        The same on all ranks; reads no image.

    Raises
    ------
    InputError : shares that leave nothing; fewer images than a batch.
    """
    images = Images(file, batch, seed, dtype)
    kept: Indices | None = None
    if validation:
        kept, held = hold_out(file.sizes["train"], validation, seed)
        images = replace(images, validation=("train", held))
    elif "test" in file.sizes:
        images = replace(images, validation=("test", None))
    if architecture:
        n_images = file.sizes["train"] if kept is None else len(kept)
        rest, held = hold_out(n_images, architecture, seed + 1)
        kept, held = (rest, held) if kept is None else (kept[rest], kept[held])
        images = replace(images, architecture=held)
    images = replace(images, training=kept)
    _check_batch(file, images.n_training, batch)
    if images.architecture is not None:
        _check_batch(file, len(images.architecture), batch)
    return images


def _check_batch(file: ImagesFile, n_images: int, batch: int) -> None:
    if n_images < batch:
        raise InputError(f"{file.path}: {n_images} training images, a batch takes {batch}")


class ImageFeed:
    """A rank's share of the images of every round, loaded in the background. See `program.Feed`.

    Parameters
    ----------
    images : Images
        What there is.
    rows : range
        This rank's rows of every batch.
    epochs : sequence of tuple of Round
        All rounds of the run: architecture rounds take their images in turn.
    device : torch.device
        Where the images go.

    Raises
    ------
    InputError : as `Images.training_batches`.
    """

    def __init__(
        self, images: Images, rows: range, epochs: Sequence[Epoch], device: torch.device
    ) -> None:
        self._training = images.training_batches(rows)
        self._before = architecture_rounds_before(epochs)
        self._held_out = images.architecture_batches(rows) if self._before else None
        self._device = device

    def inputs(self, rounds: Iterable[Round]) -> Iterator[torch.Tensor]:
        """Return the share of each round's images, in order.

        Parameters
        ----------
        rounds : iterable of Round
            Some of the run's.

        Returns
        -------
        iterator of (n_share, ...) tensor
            (n_share, channels, side, side) for images, on the device. InputError is raised at an
            image that cannot be decoded.
        """
        return to_device(self._load, rounds, self._device)

    def _load(self, turn: Round) -> torch.Tensor:
        if turn.architecture and self._held_out is not None:
            return self._held_out.load(
                *divmod(self._before[turn.number], self._held_out.steps)
            ).images
        return self._training.load(turn.epoch, turn.step).images


def to_device(
    load: Callable[[Key], torch.Tensor], keys: Iterable[Key], device: torch.device
) -> Iterator[torch.Tensor]:
    """Yield what `load` gives for each key, on `device`; the next are loaded meanwhile.

    Parameters
    ----------
    load : callable
        From a key to a tensor in host memory; called in one background thread.
    keys : iterable
        In order.
    device : torch.device
        Where the tensors go.

    Yields
    ------
    torch.Tensor
        One a key. What `load` raises is raised in its place.
    """
    for images in prefetched(load, keys):
        yield images.to(device)


def labelled(
    batches: ImageBatches, epoch: int, device: torch.device, first: int = 0
) -> Iterator[Batch]:
    """Yield the batches of an epoch from `first` on, on `device`; the next are loaded meanwhile.

    Parameters
    ----------
    batches : ImageBatches
        Of this rank's rows.
    epoch : int
        From 0.
    device : torch.device
        Where images and labels go.
    first : int
        The step to begin with, from 0.

    Yields
    ------
    Batch
        This rank's share. InputError is raised at an image that cannot be decoded.
    """
    for batch in prefetched(lambda step: batches.load(epoch, step), range(first, batches.steps)):
        yield Batch(batch.images.to(device), batch.labels.to(device))
