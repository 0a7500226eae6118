"""Files that are zip archives, as torch's are: their checksums, which torch does not read."""

from __future__ import annotations

import os
import zipfile

from hpc.io.errors import FormatError


def check_archive(path: str | os.PathLike[str]) -> None:
    """Raise FormatError for a zip archive that is damaged; other files pass.

    Parameters
    ----------
    path : str or path
        A file; one that is not there or cannot be opened passes as well.
    """
    try:
        if not zipfile.is_zipfile(path):
            return
        with zipfile.ZipFile(path) as archive:
            damaged = archive.testzip()
    except Exception as error:  # what is damaged in a zip may raise anything
        raise FormatError(f"{path}: damaged ({str(error) or type(error).__name__})") from error
    if damaged is not None:
        raise FormatError(f"{path}: checksum mismatch in {damaged}, the file is damaged")
