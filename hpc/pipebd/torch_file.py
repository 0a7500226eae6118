"""Files of `torch.save`, read without running code that is in them."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Mapping
from typing import TypeGuard

import torch

from hpc.io.archive import check_archive
from hpc.io.errors import FormatError


def load(path: str | os.PathLike[str], what: str, mapped: bool = False) -> object:
    """Return what a file holds, its tensors in host memory.

    Parameters
    ----------
    path : path-like
        Of `torch.save`.
    what : str
        What the file should be, for the message.
    mapped : bool
        Map the tensors, so that only those that are used take memory. All are read once, for their
        checksums.

    Returns
    -------
    object
        Plain data and tensors.

    Raises
    ------
    FormatError : no such file, a folder; not of torch.save; damaged; holds more than plain data.
    """
    if os.path.isdir(path):
        raise FormatError(f"{path}: is a folder, expected {what}")
    if not os.path.isfile(path):
        raise FormatError(f"{path}: no such file")
    check_archive(path)
    mapped = mapped and zipfile.is_zipfile(path)  # torch before 1.6 wrote files that cannot be
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except Exception as error:  # a damaged pickle raises anything
        raise FormatError(f"{path}: not {what} ({_reason(path)})") from error


def is_state(found: object) -> TypeGuard[Mapping[str, torch.Tensor]]:
    """Return whether something is tensors by name, as a module's state dict.

    Parameters
    ----------
    found : object
        From a file.

    Returns
    -------
    bool
        True also where it holds none.
    """
    return isinstance(found, Mapping) and all(
        isinstance(key, str) and isinstance(value, torch.Tensor) for key, value in found.items()
    )


def _reason(path: str | os.PathLike[str]) -> str:
    try:
        foreign = torch.serialization.get_unsafe_globals_in_checkpoint(str(path))
    except Exception:  # as above
        return "not a file of torch.save, or damaged"
    return f"it holds {', '.join(sorted(foreign))}" if foreign else "damaged"
