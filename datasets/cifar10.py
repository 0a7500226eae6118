"""`cifar10`: CIFAR-10's 60,000 images, from the official python or binary archive, unpacked."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from datasets.command import command_parser, say
from datasets.moments import channel_moments
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.io.errors import FormatError
from hpc.io.images import ImageTraits, create_images
from hpc.io.outputs import check_outputs

SHAPE = (3, 32, 32)
N_CLASSES = 10
PIXELS = int(np.prod(SHAPE))
TRAIN = tuple(f"data_batch_{number}" for number in range(1, 6))
FOLDERS = ("", "cifar-10-batches-py", "cifar-10-batches-bin")
"""Where the files lie below --source: there, or where the archives unpack to."""
PAD = 4
ARRAY_PARTS = {
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("_codecs", "encode"),
}
"""All that a pickled array needs: anything else in the file is refused, so it can run no code."""

Images = tuple[npt.NDArray[np.uint8], npt.NDArray[np.integer]]
"""Pixels (n, 3, 32, 32) and labels (n,)."""


def main(arguments: Sequence[str]) -> None:
    """Write an images file with both splits.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : missing or damaged files, an unwritable --out.
    """
    options = parse(build_parser(), arguments)
    check_outputs(vars(options), ["out", "json"])
    folder, suffix = find_batches(options.source)
    classes = read_classes(folder, suffix)
    batches = [read_batch(folder / f"{name}{suffix}") for name in TRAIN]
    pixels, labels = (np.concatenate(arrays) for arrays in zip(*batches, strict=True))
    test = read_batch(folder / f"test_batch{suffix}")
    mean, std = channel_moments([pixels])
    with create_images(options.out, ImageTraits(classes, 32, mean, std, PAD, True)) as writer:
        writer.put_pixels("train", pixels, labels)
        writer.put_pixels("test", *test)
    say(
        options,
        f"{len(labels)} training and {len(test[1])} test images",
        {"train": len(labels), "test": len(test[1])},
    )


def find_batches(source: str) -> tuple[Path, str]:
    """Return where the batches are, and the ending of their names.

    Parameters
    ----------
    source : str
        The folder that the archive was unpacked to, or the one inside it.

    Returns
    -------
    folder : Path
        Of the batches.
    suffix : str
        '' for the python archive, '.bin' for the binary one.

    Raises
    ------
    FormatError : there are none.
    """
    for name in FOLDERS:
        for suffix in ("", ".bin"):
            if (Path(source) / name / f"test_batch{suffix}").is_file():
                return Path(source) / name, suffix
    raise FormatError(
        f"{source}: has no test_batch or test_batch.bin; expected the unpacked CIFAR-10 archive"
    )


def read_classes(folder: Path, suffix: str) -> tuple[str, ...]:
    """Return the names of the ten classes, from batches.meta or batches.meta.txt.

    Parameters
    ----------
    folder : Path
        Of the batches.
    suffix : str
        From `find_batches`.

    Returns
    -------
    tuple of str
        Ten names, by label.

    Raises
    ------
    FormatError : the file is missing, no pickle of a dict, has another number of names or none
        that are bytes of text.
    """
    path = folder / ("batches.meta.txt" if suffix else "batches.meta")
    found = _content(path).split() if suffix else _unpickled(path).get(b"label_names", [])
    try:
        names = tuple(str(name, "utf-8") for name in found)
    except (TypeError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: its class names are no text in bytes ({error})") from error
    if len(names) != N_CLASSES:
        raise FormatError(f"{path}: {len(names)} class names, expected {N_CLASSES}")
    return names


def read_batch(path: Path) -> Images:
    """Return the images of one file.

    Parameters
    ----------
    path : Path
        Of the binary archive where it ends in .bin, else of the python one.

    Returns
    -------
    pixels : (n, 3, 32, 32) uint8 array
        Red, green, blue; rows from the top.
    labels : (n,) integer array
        Classes from 0; their range is not checked here.

    Raises
    ------
    FormatError : missing, damaged, or of another layout.
    """
    return _binary_batch(path) if path.suffix == ".bin" else _python_batch(path)


def _binary_batch(path: Path) -> Images:
    rows = np.frombuffer(_content(path), np.uint8)
    if not len(rows) or len(rows) % (PIXELS + 1):
        raise FormatError(f"{path}: {len(rows)} bytes, expected a multiple of {PIXELS + 1}")
    rows = rows.reshape(-1, PIXELS + 1)
    return rows[:, 1:].reshape(-1, *SHAPE), rows[:, 0]


def _python_batch(path: Path) -> Images:
    batch = _unpickled(path)
    data, labels = (_array(batch.get(name)) for name in (b"data", b"labels"))
    fits = labels.ndim == 1 and data.shape == (len(labels), PIXELS)
    if not fits or data.dtype != np.uint8 or labels.dtype.kind not in "iu":
        raise FormatError(f"{path}: expected 'data' of {PIXELS} bytes for each of 'labels'")
    return data.reshape(-1, *SHAPE), labels


def _array(found: object) -> npt.NDArray[Any]:
    """Return what was pickled as an array, an empty one for rows of several lengths."""
    try:
        return np.asarray(found)
    except ValueError:
        return np.empty(0, object)


class _ArrayUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if module.startswith("numpy.core"):  # the name before numpy 2
            module = module.replace("numpy.core", "numpy._core")
        if (module, name) not in ARRAY_PARTS:
            raise pickle.UnpicklingError(f"{module}.{name} has no business in it")
        return super().find_class(module, name)


def _unpickled(path: Path) -> dict[bytes, Any]:
    try:
        with open(path, "rb") as file:
            found = _ArrayUnpickler(file, encoding="bytes").load()
    except Exception as error:  # a damaged pickle raises anything
        raise FormatError(f"{path}: not a batch of the python archive ({error})") from error
    if not isinstance(found, dict):
        raise FormatError(f"{path}: holds a {type(found).__name__}, expected a dict")
    return found


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error


def build_parser() -> Parser:
    """Return the command's parser.

    Returns
    -------
    Parser
        Of `python -m datasets cifar10`.
    """
    parser = command_parser(
        "cifar10",
        __doc__,
        "--source cifar-10-batches-py --out cifar.h5",
    )
    add = parser.add_argument
    add("--source", required=True, metavar="DIR", help="folder that the archive was unpacked to")
    add("--out", required=True, metavar="FILE.h5", help="file to write")
    complete(parser)
    return parser
