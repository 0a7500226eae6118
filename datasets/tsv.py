"""Tables of numbers in text, a record a line, fields apart by tabs; errors name the line."""

from __future__ import annotations

import io
import itertools
import os
import warnings
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import Progress

from hpc.io.errors import InputError

BLOCK_LINES = 1 << 20
"""Records held at a time by `blocks`."""


def blocks(
    path: str | os.PathLike[str],
    dtype: np.dtype[np.void],
    lines: int = BLOCK_LINES,
    progress: str = "",
) -> Iterator[npt.NDArray[np.void]]:
    """Yield the records of a file in blocks of at most `lines`; empty lines are skipped.

    Parameters
    ----------
    path : the file.
    dtype : structured, a field a column; integers must be written as integers.
    lines : most records held at a time.
    progress : name of a progress bar; none where empty.

    Raises
    ------
    InputError : no such file; a line that is no such record.
    """
    try:
        with open(path, "rb") as raw, _bar(progress) as bar:
            task = bar.add_task(progress, total=os.path.getsize(path))
            file = io.TextIOWrapper(raw, encoding="ascii")
            while len(block := _load(file, dtype, lines)):
                bar.update(task, completed=raw.tell())
                yield block
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except ValueError as error:
        _fail_at_first_bad_line(path, dtype, error)


def _bar(name: str) -> Progress:
    return Progress(console=Console(stderr=True), disable=not name)


def read(path: str | os.PathLike[str], dtype: np.dtype[np.void]) -> npt.NDArray[np.void]:
    """Return all records of a file, (n,); raises as `blocks`.

    Parameters
    ----------
    path : the file.
    dtype : structured, a field a column.

    Returns
    -------
    All records, (n,).
    """
    return np.concatenate([np.empty(0, dtype), *blocks(path, dtype)])


def _load(file: Any, dtype: np.dtype[np.void], lines: int) -> npt.NDArray[np.void]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # about empty lines and the file's end
        return np.loadtxt(file, dtype, comments=None, max_rows=lines, ndmin=1)


def _fail_at_first_bad_line(
    path: str | os.PathLike[str], dtype: np.dtype[np.void], error: ValueError
) -> NoReturn:
    """Look for the line again: numpy counts the records of a block, not the lines of a file."""
    filled = _filled_lines(path)
    while lines := list(itertools.islice(filled, BLOCK_LINES)):
        if _parses(lines, dtype):
            continue
        while len(lines) > 1:
            half = lines[: len(lines) // 2]
            lines = lines[len(half) :] if _parses(half, dtype) else half
        number, text = lines[0]
        names = ", ".join(dtype.names or ())
        found = text.strip()[:60]
        raise InputError(f"{path}, line {number}: found '{found}', expected {names}") from error
    raise InputError(f"{path}: {error}") from error


def _parses(lines: list[tuple[int, str]], dtype: np.dtype[np.void]) -> bool:
    try:
        _load([text for _, text in lines], dtype, len(lines))
    except ValueError:
        return False
    return True


def fail_at_record(path: str | os.PathLike[str], record: int, message: str) -> NoReturn:
    """Raise InputError with the line of a record (counted from 0 over the whole file).

    Parameters
    ----------
    path : the file.
    record : its number, from 0.
    message : what is wrong with it.
    """
    for count, (number, _) in enumerate(_filled_lines(path)):
        if count == record:
            raise InputError(f"{path}, line {number}: {message}")
    raise InputError(f"{path}: {message}")


def check_range(
    path: str | os.PathLike[str],
    block: npt.NDArray[np.void],
    field: str,
    limit: int,
    first: int = 0,
) -> None:
    """Raise InputError, naming the line, unless `field` is in 1..limit in all of a block.

    Parameters
    ----------
    path : the file.
    block : some of its records.
    field : of the records.
    limit : largest value that is right.
    first : number of the block's first record in the file.
    """
    values = block[field]
    outside = (values < 1) | (values > limit)
    if outside.any():
        at = int(outside.argmax())
        fail_at_record(path, first + at, f"{field} {values[at]} is outside 1..{limit}")


def _filled_lines(path: str | os.PathLike[str]) -> Iterator[tuple[int, str]]:
    """Yield (1-based number, text) of the lines that hold something."""
    with open(path, encoding="ascii", errors="replace") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield number, line
