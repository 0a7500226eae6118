"""Categories files: one 1-based image number a line, as the Graph Challenge publishes them."""

from __future__ import annotations

import os
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from hpc.io.container import written_aside
from hpc.io.errors import FormatError

Longs = npt.NDArray[np.int64]


def read_categories(path: str | os.PathLike[str]) -> Longs:
    """Return the image numbers of a categories file, ascending, (m,) int64.

    Raises
    ------
    FormatError : no such file; a line that is not one positive number, or that repeats one.
    """
    try:
        with open(path, encoding="utf-8") as file:
            numbers = [_number(path, place, line) for place, line in enumerate(file, 1)]
    except (OSError, UnicodeDecodeError) as error:
        raise FormatError(f"{path}: cannot be read ({error})") from error
    found = np.array(numbers, np.int64)
    ascending = np.sort(found)
    if (np.diff(ascending) == 0).any():
        twice = ascending[1:][np.diff(ascending) == 0][0]
        raise FormatError(f"{path}: image {twice} stands there twice")
    return ascending


def _number(path: str | os.PathLike[str], place: int, line: str) -> int:
    text = line.strip()
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise FormatError(f"{path}, line {place}: '{text}', expected an image number from 1 on")
    return int(text)


def write_categories(path: str | os.PathLike[str], categories: Iterable[int]) -> None:
    """Write image numbers, one a line."""
    with written_aside(path) as partial:
        partial.write_text("".join(f"{number}\n" for number in categories), encoding="ascii")
