"""The HDF5 container that every file of ours is: format name, version, creator, checksums.

Files are written as `aside` does it, so a reader never sees half of one. Data
carry the fletcher32 filter; the object headers (shapes, attributes) are of
HDF5's version 2, which has checksums of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import traceback
from collections.abc import Iterator
from typing import Any

import h5py
import numpy as np

from hpc import __version__
from hpc.io.aside import written_aside
from hpc.io.errors import FormatError, InputError
from hpc.io.sink import check_sinks, sink

CHUNK_BYTES = 1 << 18
"""Bytes of a chunk of a one-dimensional dataset: the unit of reading and of checksums."""
CACHE_BYTES = 1 << 20
"""HDF5's cache of an open dataset: a few chunks, as each is read once (its default is 8 MiB)."""


@contextlib.contextmanager
def create(path: str | os.PathLike[str], kind: str, version: int) -> Iterator[h5py.File]:
    """Write a file of format `relaycut-KIND`: yields it open, renames it into place at the end.

    Parameters
    ----------
    path : file to write; for what is raised see `aside.written_aside`.
    kind, version : of the format.
    """
    with (
        written_aside(path) as partial,
        sink(partial) as raw,
        h5py.File(raw, "w", libver=("v110", "v110")) as file,
    ):
        put_text(file, "format", f"relaycut-{kind}")
        file.attrs["version"] = version
        put_text(file, "creator", f"relaycut {__version__}")
        yield file


@contextlib.contextmanager
def opened(path: str | os.PathLike[str], kind: str, version: int) -> Iterator[h5py.File]:
    """Open a file of format `relaycut-KIND` for reading.

    Parameters
    ----------
    path : file of ours.
    kind, version : of the format; the newest version that can be read.

    Raises
    ------
    FormatError : missing or unreadable file, not HDF5, truncated, other format, newer version,
        damaged metadata (also while the block runs).
    """
    with _named(path), _open(path) as file:
        _check_format(file, path, kind, version)
        yield file


@contextlib.contextmanager
def _named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn what h5py raises on a damaged file into a FormatError that names the file."""
    try:
        yield
    except InputError:
        raise
    except (OSError, RuntimeError, KeyError) as error:
        if not _of_hdf5(error):
            raise
        reason = str(error).strip("'\"")
        if "filter returned failure" in reason or "checksum" in reason:
            reason = "checksum mismatch, the file is damaged"
        raise FormatError(f"{path}: {reason}") from error


def _of_hdf5(error: BaseException) -> bool:
    """Return whether an exception comes from h5py, and not from other work on an open file."""
    frames = traceback.extract_tb(error.__traceback__)
    return bool(frames) and "h5py" in frames[-1].filename


def _open(path: str | os.PathLike[str]) -> h5py.File:
    if not os.path.exists(path):
        raise FormatError(f"{path}: no such file")
    if os.path.isdir(path):
        raise FormatError(f"{path}: is a folder, expected an HDF5 file")
    if not os.path.isfile(path):  # opening a pipe would wait for ever
        raise FormatError(f"{path}: is no regular file, expected an HDF5 file")
    _check_start(path)
    try:
        return h5py.File(path, "r", locking=False, rdcc_nbytes=CACHE_BYTES)
    except OSError as error:
        if "truncated" in str(error):
            size = os.path.getsize(path)
            raise FormatError(f"{path}: truncated file of {size:,} bytes{_eof(error)}") from error
        raise FormatError(f"{path}: damaged HDF5 file ({error})") from error


def _check_start(path: str | os.PathLike[str]) -> None:
    try:
        with open(path, "rb") as raw:
            start = raw.read(8)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error
    if not start:
        raise FormatError(f"{path}: empty, expected an HDF5 file")
    if start != b"\x89HDF\r\n\x1a\n":
        raise FormatError(f"{path}: not an HDF5 file")


def _eof(error: OSError) -> str:
    """Return how long HDF5 expected a truncated file to be, where it says so."""
    found = re.search(r"stored_eof = (\d+)", str(error))
    return f", expected {int(found[1]):,}" if found else ""


def _check_format(file: h5py.File, path: str | os.PathLike[str], kind: str, version: int) -> None:
    found = text(file, "format") if "format" in file.attrs else None
    if found != f"relaycut-{kind}":
        raise FormatError(f"{path}: format is {found!r}, expected 'relaycut-{kind}'")
    number = int(file.attrs["version"])
    if not 1 <= number <= version:
        raise FormatError(
            f"{path}: version {number} of relaycut-{kind}, this program reads up to {version}"
        )


def format_of(path: str | os.PathLike[str]) -> str:
    """Return the kind of one of our files.

    Parameters
    ----------
    path : file of ours.

    Returns
    -------
    'network', 'plan', 'samples', 'sharded' ...

    Raises
    ------
    FormatError : as `opened`, and where the file is not one of ours.
    """
    with _named(path), _open(path) as file:
        found = text(file, "format") if "format" in file.attrs else ""
    if not found.startswith("relaycut-"):
        raise FormatError(f"{path}: HDF5, but not a file of relaycut (no 'format' of ours)")
    return found.removeprefix("relaycut-")


def put_text(file: h5py.File, name: str, value: str) -> None:
    """Store text as an attribute of fixed length: it lies in the header and its checksum.

    Parameters
    ----------
    file, name : where.
    value : the text, stored as UTF-8.
    """
    data = value.encode()
    file.attrs.create(name, np.bytes_(data), dtype=f"S{max(1, len(data))}")


def text(file: h5py.File, name: str) -> str:
    """Return a text attribute.

    Parameters
    ----------
    file, name : where.

    Returns
    -------
    The text.

    Raises
    ------
    FormatError : missing or not text.
    """
    value = file.attrs.get(name)
    try:
        return value.decode() if isinstance(value, bytes) else str(value + "")
    except (TypeError, ValueError) as error:
        raise FormatError(
            f"{file.filename}: attribute '{name}' is {value}, expected text"
        ) from error


def mapping(file: h5py.File, name: str) -> Any:
    """Return what a text attribute says in JSON.

    Parameters
    ----------
    file, name : where.

    Returns
    -------
    A dict, or whatever else it says: that is not checked.

    Raises
    ------
    FormatError : missing or not JSON.
    """
    written = text(file, name)
    try:
        return json.loads(written)
    except ValueError as error:
        raise FormatError(f"{file.filename}: attribute '{name}' is not JSON ({error})") from error


def put(file: h5py.File, name: str, array: np.ndarray[Any, Any]) -> h5py.Dataset:
    """Store a whole array with a checksum (an empty one has nothing to check).

    Parameters
    ----------
    file, name : where; there is none of that name.
    array : of any shape and dtype.

    Returns
    -------
    The dataset.

    Raises
    ------
    OSError : a write to an open file has failed before, see `sink.check_sinks`.
    """
    check_sinks()
    array = np.ascontiguousarray(array)
    if array.size == 0:
        return file.create_dataset(name, data=array)
    return file.create_dataset(name, data=array, chunks=_chunks(array), fletcher32=True)


def appendable(file: h5py.File, name: str, dtype: Any) -> h5py.Dataset:
    """Create an empty one-dimensional dataset to be filled by `append`.

    Parameters
    ----------
    file, name, dtype : where; there is none of that name.

    Returns
    -------
    The dataset, (0,).
    """
    length = CHUNK_BYTES // np.dtype(dtype).itemsize
    return file.create_dataset(
        name, shape=(0,), maxshape=(None,), chunks=(length,), dtype=dtype, fletcher32=True
    )


def preallocated(file: h5py.File, name: str, length: int, dtype: Any) -> h5py.Dataset:
    """Create a one-dimensional dataset of known length to be filled range by range.

    Parameters
    ----------
    file, name, dtype : where; there is none of that name.
    length : numbers, 0 or more.

    Returns
    -------
    The dataset, (length,).
    """
    if length == 0:
        return file.create_dataset(name, shape=(0,), dtype=dtype)
    items = min(length, CHUNK_BYTES // np.dtype(dtype).itemsize)
    return file.create_dataset(name, shape=(length,), chunks=(items,), dtype=dtype, fletcher32=True)


def append(dataset: h5py.Dataset, array: np.ndarray[Any, Any]) -> None:
    """Add `array` at the end of an appendable dataset.

    Parameters
    ----------
    dataset : from `appendable`.
    array : (items,), of the same dtype.
    """
    check_sinks()
    start = dataset.shape[0]
    dataset.resize((start + len(array),))
    if len(array):
        dataset[start:] = array


def dataset(
    file: h5py.File, name: str, dtypes: tuple[str, ...], shape: tuple[int | None, ...]
) -> h5py.Dataset:
    """Return a dataset after checking its dtype and shape.

    Parameters
    ----------
    file, name : where.
    dtypes : names of those that it may have: 'int64'.
    shape : that it must have; None: any length.

    Returns
    -------
    The dataset, nothing of it read.

    Raises
    ------
    FormatError : missing, other dtype, other shape.
    """
    found = file.get(name)
    if not isinstance(found, h5py.Dataset):
        raise FormatError(f"{file.filename}: has no dataset '{name}'")
    if found.dtype.name not in dtypes:
        raise FormatError(
            f"{file.filename}: '{name}' is {found.dtype.name}, expected {' or '.join(dtypes)}"
        )
    fits = len(found.shape) == len(shape) and all(
        want is None or have == want for have, want in zip(found.shape, shape, strict=True)
    )
    if not fits:
        want_text = tuple("any" if n is None else n for n in shape)
        raise FormatError(
            f"{file.filename}: '{name}' has shape {found.shape}, expected {want_text}"
        )
    return found


def read(dataset: h5py.Dataset, *spans: slice) -> np.ndarray[Any, Any]:
    """Return a range of a dataset; HDF5 checks the checksums.

    Parameters
    ----------
    dataset : of an open file.
    *spans : a slice for each of the first axes; none: all of it.

    Returns
    -------
    An array of its dtype.

    Raises
    ------
    FormatError : checksum mismatch or a truncated file, where reading finds it.
    """
    with _named(dataset.file.filename):
        found: np.ndarray[Any, Any] = dataset[spans or slice(None)]
        return found


def _chunks(array: np.ndarray[Any, Any]) -> tuple[int, ...]:
    """Return a chunk shape of about CHUNK_BYTES, cut along the first axis."""
    row_bytes = max(1, array[0].nbytes)
    return (max(1, min(len(array), CHUNK_BYTES // row_bytes)), *array.shape[1:])
