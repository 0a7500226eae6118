"""Files that are zip archives, as torch's are: their checksums, which torch does not read."""

from __future__ import annotations

import os
import zipfile
from typing import BinaryIO

from hpc.io.errors import FormatError


def check_archive(path: str | os.PathLike[str]) -> None:
    """Raise FormatError for a file that cannot be opened, and for a zip archive that is damaged.

    Parameters
    ----------
    path : str or path
        A file; one that is no zip archive passes.
    """
    try:
        with open(path, "rb") as file:
            damaged = _damaged_member(file, path)
    except OSError as error:
        raise FormatError(f"{path}: cannot be read ({error.strerror})") from error
    if damaged is not None:
        raise FormatError(f"{path}: checksum mismatch in {damaged}, the file is damaged")


def _damaged_member(file: BinaryIO, path: str | os.PathLike[str]) -> str | None:
    try:
        if not zipfile.is_zipfile(file):
            return None
        with zipfile.ZipFile(file) as archive:
            return archive.testzip()
    except Exception as error:  # what is damaged in a zip may raise anything
        raise FormatError(f"{path}: damaged ({str(error) or type(error).__name__})") from error
