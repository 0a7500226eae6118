"""MNIST's IDX files, plain or gzipped: images and labels."""

from __future__ import annotations

import gzip
import os
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hpc.io.errors import FormatError

SPLITS = {"train": "train", "test": "t10k"}
"""The two sets and what their files' names begin with."""
IMAGE_SIDE = 28
N_CLASSES = 10
UINT8_CODE = 0x08


def read_images(folder: str | os.PathLike[str], split: str) -> npt.NDArray[np.uint8]:
    """Return the images of a split.

    Parameters
    ----------
    folder : str or os.PathLike
        Of the IDX files.
    split : str
        A key of SPLITS.

    Returns
    -------
    (n, 28, 28) uint8 array
        Rows from the top; read-only.

    Raises
    ------
    FormatError : no such file, not IDX, truncated, images of another size.
    """
    path = _find(folder, f"{SPLITS[split]}-images")
    images = _read(path, 3)
    if images.shape[1:] != (IMAGE_SIDE, IMAGE_SIDE):
        raise FormatError(f"{path}: images are {images.shape[1:]}, expected 28 by 28")
    return images


def read_labels(folder: str | os.PathLike[str], split: str) -> npt.NDArray[np.uint8]:
    """Return the labels of a split.

    Parameters
    ----------
    folder : str or os.PathLike
        Of the IDX files.
    split : str
        A key of SPLITS.

    Returns
    -------
    (n,) uint8 array
        0..9 in MNIST's own files, which is not checked here; read-only.

    Raises
    ------
    FormatError : no such file, not IDX, truncated.
    """
    return _read(_find(folder, f"{SPLITS[split]}-labels"), 1)


def _find(folder: str | os.PathLike[str], stem: str) -> Path:
    """Return the file of a stem under any of the names it is published by."""
    n_axes = 3 if stem.endswith("images") else 1
    names = [f"{stem}{dot}idx{n_axes}-ubyte{end}" for end in ("", ".gz") for dot in "-."]
    for name in names:
        if (Path(folder) / name).is_file():
            return Path(folder) / name
    raise FormatError(f"{folder}: has no {names[0]} (nor that with .gz)")


def _read(path: Path, n_axes: int) -> npt.NDArray[np.uint8]:
    raw = _content(path)
    if len(raw) < 4 + 4 * n_axes or raw[:4] != bytes((0, 0, UINT8_CODE, n_axes)):
        raise FormatError(f"{path}: not an IDX file of bytes with {n_axes} axes")
    shape = np.frombuffer(raw, ">u4", n_axes, offset=4).astype(int)
    values = np.frombuffer(raw, np.uint8, offset=4 + 4 * n_axes)
    if len(values) != shape.prod():
        raise FormatError(f"{path}: holds {len(values)} bytes, expected {shape.prod()}")
    return values.reshape(shape)


def _content(path: Path) -> bytes:
    try:
        if path.suffix == ".gz":
            with gzip.open(path) as file:
                return file.read()
        return path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:  # BadGzipFile is an OSError
        raise FormatError(f"{path}: cannot be read ({error})") from error
