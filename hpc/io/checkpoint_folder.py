"""The checkpoints of a folder: numbered, the newest has the largest number."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import Any

from hpc.io.aside import check_writable
from hpc.io.checkpoint import Index, check_part, index_path, read_index
from hpc.io.errors import FormatError, InputError

NAME = re.compile(r"checkpoint-([0-9]{6,12})")
"""Numbers of up to 12 digits are ours."""


def checkpoint_path(root: Path, number: int) -> Path:
    """Return the folder of a checkpoint.

    Parameters
    ----------
    root : Path
        The folder of checkpoints.
    number : int
        From 1.

    Returns
    -------
    Path
        Whether there is such a folder or not.
    """
    return root / f"checkpoint-{number:06d}"


def make_root(root: Path) -> None:
    """Make the folder of checkpoints, if it is not there.

    Parameters
    ----------
    root : Path
        The folder; the one that holds it must be there.

    Raises
    ------
    InputError : it cannot be made, is a file.
    """
    try:
        if root.exists() and not root.is_dir():
            raise InputError(f"--checkpoint {root}: is a file, expected a folder")
        root.mkdir(exist_ok=True)
    except OSError as error:
        raise InputError(f"--checkpoint {root}: cannot be made ({error.strerror})") from error


def check_root(root: Path) -> None:
    """Raise InputError unless files can be written in the folder.

    Parameters
    ----------
    root : Path
        The folder of checkpoints, as this rank sees it.
    """
    if not os.path.isdir(root):
        raise InputError(f"--checkpoint {root}: no such folder here; all ranks must share it")
    try:
        check_writable(root / "probe")
    except InputError as error:
        raise InputError(f"--checkpoint {error}") from error


def numbers(root: Path) -> list[int]:
    """Return the numbers of all checkpoints, complete or not, the newest first.

    Parameters
    ----------
    root : Path
        The folder of checkpoints, which need not be there.

    Returns
    -------
    list of int
        Descending; none where there is no such folder.

    Raises
    ------
    InputError : it cannot be read.
    """
    if not os.path.isdir(root):
        return []
    try:
        found = [NAME.fullmatch(path.name) for path in root.iterdir() if path.is_dir()]
    except OSError as error:
        raise InputError(f"--checkpoint {root}: cannot be read ({error.strerror})") from error
    return sorted((int(name[1]) for name in found if name), reverse=True)


def differences(found: dict[str, Any], run: dict[str, Any]) -> str:
    """Return how two runs differ.

    Parameters
    ----------
    found : dict
        A run by name, as an index has it.
    run : dict
        This run, as JSON would give it back.

    Returns
    -------
    str
        'batch 50, here 64; seed 1, here 0'; '' where they do not.
    """
    names = [*run, *(name for name in found if name not in run)]
    return "; ".join(
        f"{name} {found.get(name)}, here {run.get(name)}"
        for name in names
        if found.get(name) != run.get(name)
    )


def prune(root: Path, keep: int, newest: int, broken: Collection[int] = ()) -> None:
    """Remove what the complete checkpoint `newest` makes superfluous.

    That is all older ones that are not complete, and of the complete ones all but `keep`.

    Parameters
    ----------
    root : Path
        The folder of checkpoints.
    keep : int
        Complete ones that stay, `newest` included, at least 1.
    newest : int
        Number of a complete checkpoint; those with larger numbers stay.
    broken : collection of int
        Numbers of those that are known not to be complete, for all that their sizes say.
    """
    kept = 0
    for number in numbers(root):
        path = checkpoint_path(root, number)
        if number > newest:
            continue
        whole = number not in broken and (number == newest or _looks_complete(path))
        if whole and kept < keep:
            kept += 1
        else:
            remove(path)


def _looks_complete(path: Path) -> bool:
    """Return whether index and files are there; their content is looked at when it is needed."""
    try:
        index: Index = read_index(path)
        for part in range(len(index.parts)):
            check_part(index, part, whole=False)
    except FormatError:
        return False
    return True


def remove(path: Path) -> None:
    """Remove a checkpoint as far as that is possible, the index first: it is never half there.

    Parameters
    ----------
    path : Path
        Of the checkpoint, which need not be there.
    """
    with contextlib.suppress(OSError):
        index_path(path).unlink(missing_ok=True)
        shutil.rmtree(path, ignore_errors=True)
