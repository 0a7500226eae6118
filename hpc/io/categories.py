"""Categories files: one 1-based image number a line, as the Graph Challenge publishes them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hpc.io.aside import written_aside
from hpc.io.errors import FormatError

Longs = npt.NDArray[np.int64]
MOST_IMAGES = 1 << 40
"""No image has a number above this: it is a slip of the pen."""


def read_categories(path: str | os.PathLike[str]) -> Longs:
    """Return the image numbers of a categories file, ascending, (m,) int64; empty lines count not.

    Parameters
    ----------
    path : text file, a number a line.

    Returns
    -------
    (m,) int64, ascending.

    Raises
    ------
    FormatError : no such file; a line that is not one positive number, or that repeats one.
    """
    seen: set[int] = set()
    try:
        with open(path, encoding="utf-8") as file:
            for place, line in enumerate(file, 1):
                if line.strip():
                    _add(seen, line.strip(), f"{path}, line {place}")
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: not text; expected an image number on each line") from error
    return np.array(sorted(seen), np.int64)


def _add(seen: set[int], text: str, where: str) -> None:
    if not (text.isascii() and text.isdigit() and 0 < int(text) <= MOST_IMAGES):
        raise FormatError(f"{where}: found '{text}', expected an image number from 1 on")
    if int(text) in seen:
        raise FormatError(f"{where}: image {text} was given on a line above")
    seen.add(int(text))


def write_categories(path: str | os.PathLike[str], categories: Iterable[int]) -> None:
    """Write image numbers, one a line.

    Parameters
    ----------
    path : file to write.
    categories : the numbers, from 1.
    """
    with written_aside(path) as partial:
        partial.write_text("".join(f"{number}\n" for number in categories), encoding="ascii")
