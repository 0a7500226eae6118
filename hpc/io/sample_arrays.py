"""Inputs from memory, read as a samples file is: what both have in common."""

from __future__ import annotations

import contextlib
import os
from typing import Any

import numpy as np
import numpy.typing as npt

from hpc.io.arguments import as_array
from hpc.io.errors import InputError
from hpc.io.samples import SamplesFile, SamplesHeader, check_labels, open_samples

Array = npt.NDArray[Any]
Data = str | os.PathLike[str] | Array | tuple[Array, Array]
"""A samples file; or inputs (n, width); or inputs and labels (n,)."""
EXPECTED = "a samples file, an array (samples, inputs), or a tuple (x, labels) of arrays"
KINDS = ("float32", "float64", "uint8", "bool")


class SampleArrays:
    """Inputs and labels in memory, with the methods of `SamplesFile` that the engine calls.

    Parameters
    ----------
    x : (n, width) float32, float64, uint8 or bool, a sample a row; not copied.
    labels : (n,) whole numbers from 0, or None.
    name : for messages.

    Raises
    ------
    InputError : another shape or dtype, no sample, a label below 0.

    Attributes
    ----------
    header : SamplesHeader
    bytes_read : 0.
    """

    def __init__(self, x: Array, labels: Array | None = None, name: str = "x") -> None:
        self._x = as_array(name, x, EXPECTED)
        if self._x.ndim != 2 or not self._x.size:
            raise InputError(f"{name}: shape {self._x.shape}, expected (samples, inputs)")
        if self._x.dtype.name not in KINDS:
            raise InputError(f"{name}: dtype {self._x.dtype}, expected {', '.join(KINDS)}")
        self._labels = None if labels is None else _labels(labels, len(self._x), name)
        classes = 0 if self._labels is None else int(self._labels.max()) + 1
        n_samples, width = self._x.shape
        self.header = SamplesHeader(name, n_samples, width, False, 1.0, classes, False)
        self.bytes_read = 0

    def own(self, start: int, stop: int, rows: npt.NDArray[np.integer]) -> Array:
        """Return rows of x^0.

        Parameters
        ----------
        start, stop : the samples.
        rows : of x^0, ascending.

        Returns
        -------
        (len(rows), stop - start), of x's dtype.

        Raises
        ------
        InputError : an input that is not finite.
        """
        raw = np.ascontiguousarray(self._x[start:stop, rows].T)
        if raw.dtype.kind == "f" and not np.isfinite(raw).all():
            bad = start + int(np.flatnonzero(~np.isfinite(raw).all(axis=0))[0])
            raise InputError(f"{self.header.path}: sample {bad} has an input that is not finite")
        return raw

    def decode(
        self, raw: Array, start: int, stop: int, dtype: npt.DTypeLike
    ) -> npt.NDArray[np.floating]:
        """Return what `own` gave as numbers.

        Parameters
        ----------
        raw : (rows, stop - start).
        start, stop : the samples.
        dtype : of the result.

        Returns
        -------
        (rows, stop - start) `dtype`.
        """
        values: npt.NDArray[np.floating] = raw.astype(dtype)
        return values

    def labels(self) -> npt.NDArray[np.int32]:
        """Return the labels.

        Returns
        -------
        (n,) int32.

        Raises
        ------
        InputError : there are none.
        """
        if self._labels is None:
            raise InputError(
                f"{self.header.path}: no labels, which training needs: give (x, labels)"
            )
        return self._labels


def _labels(labels: Array, n_samples: int, name: str) -> npt.NDArray[np.int32]:
    found = as_array(f"{name}: labels", labels, f"({n_samples},) integers")
    if found.shape != (n_samples,) or found.dtype.kind not in "iu":
        raise InputError(
            f"{name}: labels of shape {found.shape} {found.dtype}, expected ({n_samples},) integers"
        )
    check_labels(found, 1 << 31, name)
    return found.astype(np.int32)


def samples_of(
    data: Data, name: str = "x"
) -> contextlib.AbstractContextManager[SamplesFile | SampleArrays]:
    """Open samples, wherever they are.

    Parameters
    ----------
    data : a path; inputs; or (inputs, labels).
    name : of arrays, for messages.

    Returns
    -------
    A context that yields them.

    Raises
    ------
    InputError : see `open_samples` and `SampleArrays`.
    """
    if isinstance(data, str | os.PathLike):
        return open_samples(data)
    if isinstance(data, tuple):
        if len(data) != 2:
            raise InputError(f"{name}: a tuple of {len(data)}, expected (x, labels)")
        return contextlib.nullcontext(SampleArrays(*data, name))
    return contextlib.nullcontext(SampleArrays(data, None, name))
