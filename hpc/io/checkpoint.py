"""A checkpoint: a folder with a file per part and an index, which is written last.

    DIR/checkpoint-000007/part-00000.h5 ... part-00003.h5, index.h5

A part (format ``relaycut-checkpoint-part``, version 1) holds arrays by name, as the engine
that wrote it has them. The index (``relaycut-checkpoint``, version 1) has the attributes
``step``, ``run``, ``position`` and ``shared`` (JSON), the arrays named in ``shared``, and
``sizes`` (parts,) int64 and ``digests`` (parts, 16) uint8 (BLAKE2b) of the part files. Only a
checkpoint with an index and all its parts, whole and unchanged, is complete.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt

from hpc.io import container
from hpc.io.errors import FormatError
from hpc.io.sink import check_sinks

PART, INDEX = "checkpoint-part", "checkpoint"
VERSION = 1
DIGEST_BYTES = 16
PIECE_BYTES = 16 * container.CHUNK_BYTES
"""Written and read at a time: in between, other threads get at HDF5."""

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Written:
    """A part file as the index knows it. size : bytes. digest : of the whole file."""

    size: int
    digest: bytes


@dataclass(frozen=True)
class Index:
    """What an index says.

    folder : of the checkpoint. step : steps of the run done before.
    run : what the run is, by name; a checkpoint of another run is not this one's.
    position, arrays : what is not of one part. parts : the files, in order.
    """

    folder: Path
    step: int
    run: dict[str, Any]
    position: dict[str, Any]
    arrays: dict[str, Array]
    parts: tuple[Written, ...]


def part_path(folder: Path, part: int) -> Path:
    """Return the file of a part.

    Parameters
    ----------
    folder : Path
        Of the checkpoint.
    part : int
        From 0.

    Returns
    -------
    Path
        Whether there is such a file or not.
    """
    return folder / f"part-{part:05d}.h5"


def index_path(folder: Path) -> Path:
    """Return the index file.

    Parameters
    ----------
    folder : Path
        Of the checkpoint.

    Returns
    -------
    Path
        Whether there is such a file or not.
    """
    return folder / "index.h5"


def write_part(folder: Path, part: int, arrays: Iterable[tuple[str, Array]]) -> Written:
    """Write a part's file, and wait until the disk has it.

    Parameters
    ----------
    folder : Path
        Of the checkpoint; made if need be.
    part : int
        From 0.
    arrays : iterable of (str, array)
        Names and one-dimensional arrays, taken one by one.

    Returns
    -------
    Written
        Size and digest of the file.

    Raises
    ------
    InputError, OSError : it cannot be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = part_path(folder, part)
    with container.create(path, PART, VERSION) as file:
        for name, array in arrays:
            _put_in_pieces(file, name, array)
    return _settled(path)


def _put_in_pieces(file: h5py.File, name: str, array: Array) -> None:
    found = container.preallocated(file, name, len(array), array.dtype)
    items = PIECE_BYTES // array.dtype.itemsize
    for start in range(0, len(array), items):
        check_sinks()
        found[start : start + items] = array[start : start + items]


def _settled(path: Path) -> Written:
    """Return a file's size and digest, once the disk has it."""
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
        while piece := file.read(PIECE_BYTES):
            digest.update(piece)
        return Written(file.tell(), digest.digest())


def write_index(index: Index) -> None:
    """Write the index, aside and renamed: from here on the checkpoint is complete.

    Parameters
    ----------
    index : Index
        All its parts are written.

    Raises
    ------
    InputError, OSError : it cannot be written.
    """
    with container.create(index_path(index.folder), INDEX, VERSION) as file:
        file.attrs["step"] = index.step
        container.put_text(file, "run", json.dumps(index.run))
        container.put_text(file, "position", json.dumps(index.position))
        container.put(file, "sizes", np.array([part.size for part in index.parts], np.int64))
        digests = np.frombuffer(b"".join(part.digest for part in index.parts), np.uint8)
        container.put(file, "digests", digests.reshape(-1, DIGEST_BYTES))
        container.put_text(file, "shared", json.dumps(list(index.arrays)))
        for name, array in index.arrays.items():
            container.put(file, f"shared.{name}", array)


def read_index(folder: Path) -> Index:
    """Read an index.

    Parameters
    ----------
    folder : Path
        Of the checkpoint.

    Returns
    -------
    Index
        As it was written; its parts are not looked at.

    Raises
    ------
    FormatError : none there, damaged, of a newer version.
    """
    path = index_path(folder)
    if not path.exists():
        raise FormatError(f"{folder}: has no index, so it is half written")
    with container.opened(path, INDEX, VERSION) as file:
        sizes = container.read(container.dataset(file, "sizes", ("int64",), (None,)))
        shape = (len(sizes), DIGEST_BYTES)
        digests = container.read(container.dataset(file, "digests", ("uint8",), shape))
        parts = zip(sizes.tolist(), map(bytes, digests), strict=True)
        return Index(
            folder,
            _step(file),
            container.mapping(file, "run"),
            container.mapping(file, "position"),
            {name: _shared(file, name) for name in container.mapping(file, "shared")},
            tuple(Written(size, digest) for size, digest in parts),
        )


def _shared(file: h5py.File, name: str) -> Array:
    found = file.get(f"shared.{name}")
    if not isinstance(found, h5py.Dataset):
        raise FormatError(f"{file.filename}: has no dataset 'shared.{name}'")
    return container.read(found)


def _step(file: h5py.File) -> int:
    step = file.attrs.get("step")
    if not isinstance(step, np.integer) or step < 0:
        raise FormatError(f"{file.filename}: attribute 'step' is {step}, expected 0 or more")
    return int(step)


def check_part(index: Index, part: int, whole: bool = True) -> None:
    """Check that a part is the file that the index names.

    Parameters
    ----------
    index : Index
        Of the checkpoint.
    part : int
        From 0.
    whole : bool
        Read all of it; False: look only at its size.

    Raises
    ------
    FormatError : missing, no regular file, of another size, of other content.
    """
    path, expected = part_path(index.folder, part), index.parts[part]
    if not path.is_file():
        what = "is no regular file" if path.exists() else "no such file"
        raise FormatError(f"{path}: {what}")
    size = path.stat().st_size
    if size != expected.size:
        raise FormatError(f"{path}: {size:,} bytes, expected {expected.size:,}")
    if whole and _settled(path) != expected:
        raise FormatError(f"{path}: checksum mismatch, the file is damaged or of another step")


@contextlib.contextmanager
def opened_part(index: Index, part: int) -> Iterator[h5py.File]:
    """Open a part for reading.

    Parameters
    ----------
    index : Index
        Of the checkpoint.
    part : int
        From 0.

    Yields
    ------
    h5py.File
        One dataset for each array, by name.

    Raises
    ------
    FormatError : see `container.opened`.
    """
    with container.opened(part_path(index.folder, part), PART, VERSION) as file:
        yield file
