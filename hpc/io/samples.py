"""The samples file: inputs, neuron by neuron, with labels or categories.

Layout (format ``relaycut-samples``, version 1). Inputs lie neuron-major, as
x^0 is (n_0, batch), so a rank reads its own rows of a batch:

- ``x`` (width, n) float32 or uint8 (attribute ``scale``: x = raw · scale), or
  ``bits`` (width, ceil(n / 8)) uint8: sample s is bit s % 8 of byte s // 8.
- attribute ``n_samples``; ``labels`` (n,) int32, optional, with attribute ``classes``;
  ``categories`` (m,) int64, optional: 1-based numbers of the images whose last
  layer is known to be non-zero, ascending.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from hpc.io import container
from hpc.io.errors import FormatError, InputError

KIND = "samples"
VERSION = 1
CHUNK = (1024, 128)
"""Chunk of the inputs: neurons × bytes (1,024 bit-packed samples)."""


@dataclass(frozen=True)
class SamplesHeader:
    """What a samples file holds.

    width : n_0. packed : bit-packed 0/1 inputs. scale : of stored bytes, else 1.
    classes : number of classes where there are labels, else 0.
    """

    path: str
    n_samples: int
    width: int
    packed: bool
    scale: float
    classes: int
    has_categories: bool


class SamplesWriter:
    """Fills a samples file block of samples by block; see `create_samples`.

    Parameters
    ----------
    file : open for writing.
    inputs : its dataset of inputs.
    n_samples : how many there will be.
    packed : whether they are bits.
    """

    def __init__(self, file: h5py.File, inputs: h5py.Dataset, n_samples: int, packed: bool) -> None:
        self._file = file
        self._inputs = inputs
        self._n_samples = n_samples
        self._packed = packed

    def put_inputs(self, start: int, block: npt.NDArray[Any]) -> None:
        """Store the inputs of samples start.. : (width, m); start % 8 == 0 where packed.

        Parameters
        ----------
        start : number of the first sample, from 0.
        block : (width, m).
        """
        stop = start + block.shape[1]
        if stop > self._n_samples or (self._packed and start % 8):
            raise ValueError(f"block {start}..{stop} does not fit {self._n_samples} samples")
        if self._packed:
            packed = np.packbits(block.astype(bool), axis=1, bitorder="little")
            self._inputs[:, start // 8 : start // 8 + packed.shape[1]] = packed
        else:
            self._inputs[:, start:stop] = block

    def put_packed(self, bits: npt.NDArray[np.uint8]) -> None:
        """Store all inputs, packed as the file has them: (width, ceil(n / 8)).

        Parameters
        ----------
        bits : (width, ceil(n / 8)) uint8.
        """
        self._inputs[:] = bits

    def put_labels(self, labels: npt.NDArray[np.integer], classes: int) -> None:
        """Store one label a sample, each in 0..classes-1.

        Parameters
        ----------
        labels : (n,) whole numbers.
        classes : how many there are.
        """
        if len(labels) != self._n_samples:
            raise InputError(f"{len(labels)} labels for {self._n_samples} samples")
        check_labels(labels, classes, "labels")
        container.put(self._file, "labels", labels.astype(np.int32))
        self._file.attrs["classes"] = classes

    def put_categories(self, categories: npt.NDArray[np.integer]) -> None:
        """Store the official answer: 1-based image numbers, ascending.

        Parameters
        ----------
        categories : (m,) whole numbers from 1.
        """
        _check_categories(categories, self._n_samples, "categories")
        container.put(self._file, "categories", categories.astype(np.int64))


@contextlib.contextmanager
def create_samples(
    path: str | os.PathLike[str],
    n_samples: int,
    width: int,
    kind: str,
    *,
    scale: float = 1.0,
    compress: bool = False,
) -> Iterator[SamplesWriter]:
    """Write a samples file; yields its writer, renames it into place at the end.

    Parameters
    ----------
    path : file to write.
    n_samples : n.
    width : n_0.
    kind : 'bits', 'uint8' (with `scale`) or 'float32'.
    scale : x = stored byte · scale.
    compress : gzip, for files that are shipped; others are read faster without.
    """
    packed = kind == "bits"
    shape = (width, -(-n_samples // 8) if packed else n_samples)
    if min(shape) < 1:
        raise InputError(f"{path}: {n_samples} samples of width {width}: nothing to write")
    dtype = np.dtype("uint8" if packed else kind)
    chunks = (min(width, CHUNK[0]), min(shape[1], CHUNK[1]))
    with container.create(path, KIND, VERSION) as file:
        inputs = file.create_dataset(
            "bits" if packed else "x",
            shape=shape,
            dtype=dtype,
            chunks=chunks,
            fletcher32=True,
            compression="gzip" if compress else None,
        )
        file.attrs["n_samples"] = n_samples
        file.attrs["scale"] = scale
        yield SamplesWriter(file, inputs, n_samples, packed)


@contextlib.contextmanager
def open_samples(path: str | os.PathLike[str]) -> Iterator[SamplesFile]:
    """Open a samples file for reading; see `container.opened` for what it raises.

    Parameters
    ----------
    path : samples file.
    """
    with container.opened(path, KIND, VERSION) as file:
        yield SamplesFile(file, path)


class SamplesFile:
    """An open samples file.

    Parameters
    ----------
    file : open, of this format.
    path : for messages.

    Attributes
    ----------
    header : SamplesHeader
    bytes_read : bytes of datasets read so far.
    """

    def __init__(self, file: h5py.File, path: str | os.PathLike[str]) -> None:
        self._file = file
        self.bytes_read = 0
        packed = "bits" in file
        n_samples = int(file.attrs["n_samples"])
        if packed:
            shape = (None, -(-n_samples // 8))
            self._inputs = container.dataset(file, "bits", ("uint8",), shape)
        else:
            self._inputs = container.dataset(file, "x", ("float32", "uint8"), (None, n_samples))
        scale = float(file.attrs["scale"])
        if not math.isfinite(scale):
            raise FormatError(f"{path}: attribute 'scale' is {scale}, expected a finite number")
        if n_samples < 1 or self._inputs.shape[0] < 1:
            raise FormatError(f"{path}: holds no inputs")
        self.header = SamplesHeader(
            str(path),
            n_samples,
            int(self._inputs.shape[0]),
            packed,
            scale,
            int(file.attrs["classes"]) if "labels" in file else 0,
            "categories" in file,
        )

    def raw(self, start: int, stop: int) -> npt.NDArray[Any]:
        """Return the inputs of samples start..stop-1 as stored.

        Packed: (width, bytes) uint8 from byte start // 8 on, so start % 8 is the first
        sample's bit; else (width, stop - start) uint8 or float32.

        Parameters
        ----------
        start, stop : the samples.

        Returns
        -------
        (width, ...) as above.
        """
        blocks = [block for _, block in self._blocks(start, stop)]
        return np.concatenate(blocks)

    def own(self, start: int, stop: int, rows: npt.NDArray[np.integer]) -> npt.NDArray[Any]:
        """Return the given rows (ascending) of `raw(start, stop)`, in bounded memory.

        Parameters
        ----------
        start, stop : the samples.
        rows : of x^0, ascending.

        Returns
        -------
        (len(rows), ...) as stored.

        Raises
        ------
        FormatError : an input that is not finite.
        """
        kept = []
        for first, block in self._blocks(start, stop):
            inside = slice(*np.searchsorted(rows, (first, first + len(block))))
            kept.append(block[rows[inside] - first])
        raw = np.concatenate(kept)
        if raw.dtype == np.float32 and not np.isfinite(raw).all():
            bad = start + int(np.flatnonzero(~np.isfinite(raw).all(axis=0))[0])
            raise FormatError(f"{self.header.path}: sample {bad} has an input that is not finite")
        return raw

    def _blocks(self, start: int, stop: int) -> Iterator[tuple[int, npt.NDArray[Any]]]:
        """Yield (first row, rows as stored), a chunk's height at a time."""
        span = slice(start // 8, -(-stop // 8)) if self.header.packed else slice(start, stop)
        for first in range(0, self.header.width, CHUNK[0]):
            block = container.read(self._inputs, slice(first, first + CHUNK[0]), span)
            self.bytes_read += block.nbytes
            yield first, block

    def inputs(
        self, start: int, stop: int, rows: npt.NDArray[np.integer], dtype: npt.DTypeLike
    ) -> npt.NDArray[np.floating]:
        """Return rows `rows` of x^0 for samples start..stop-1: (len(rows), stop - start) `dtype`.

        Parameters
        ----------
        start, stop : the samples.
        rows : of x^0, ascending.
        dtype : of the result.

        Returns
        -------
        (len(rows), stop - start) `dtype`.

        Raises
        ------
        FormatError : an input that is not finite.
        """
        return self.decode(self.own(start, stop, rows), start, stop, dtype)

    def decode(
        self, raw: npt.NDArray[Any], start: int, stop: int, dtype: npt.DTypeLike
    ) -> npt.NDArray[np.floating]:
        """Return stored inputs of samples start..stop-1 as numbers: (rows, stop - start).

        Parameters
        ----------
        raw : from `raw` or `own`.
        start, stop : the samples.
        dtype : of the result.

        Returns
        -------
        (rows, stop - start) `dtype`.
        """
        if self.header.packed:
            first = start % 8
            bits = np.unpackbits(raw, axis=1, bitorder="little")
            return bits[:, first : first + stop - start].astype(dtype)
        values = raw.astype(dtype)
        if raw.dtype == np.uint8:
            values *= self.header.scale
        return values

    def labels(self) -> npt.NDArray[np.int32]:
        """Return the label of every sample, (n,) int32, checked against `classes`.

        Returns
        -------
        (n,) int32.

        Raises
        ------
        InputError : the file has none. FormatError : one outside 0..classes-1.
        """
        if not self.header.classes:
            raise InputError(f"{self.header.path}: has no labels, which training needs")
        labels = container.read(
            container.dataset(self._file, "labels", ("int32",), (self.header.n_samples,))
        )
        check_labels(labels, self.header.classes, self.header.path)
        self.bytes_read += labels.nbytes
        return labels

    def categories(self) -> npt.NDArray[np.int64]:
        """Return the official answer kept with the inputs: (m,) int64, 1-based, ascending.

        Returns
        -------
        (m,) int64.
        """
        if not self.header.has_categories:
            raise InputError(f"{self.header.path}: has no categories")
        found = container.read(container.dataset(self._file, "categories", ("int64",), (None,)))
        _check_categories(found, self.header.n_samples, self.header.path)
        return found


def check_labels(labels: npt.NDArray[np.integer], classes: int, where: str) -> None:
    """Raise FormatError for a label outside 0..classes-1, naming the first.

    Parameters
    ----------
    labels : (n,) whole numbers.
    classes : how many there are.
    where : begins the message.
    """
    outside = np.flatnonzero((labels < 0) | (labels >= classes))
    if outside.size:
        at = int(outside[0])
        raise FormatError(f"{where}: label {labels[at]} of sample {at} is outside 0..{classes - 1}")


def _check_categories(categories: npt.NDArray[np.integer], n_samples: int, where: str) -> None:
    if len(categories) and (
        categories.min() < 1 or categories.max() > n_samples or (np.diff(categories) <= 0).any()
    ):
        raise FormatError(f"{where}: categories must ascend within 1..{n_samples}")
