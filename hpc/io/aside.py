"""Files and folders written aside and renamed, so that a reader never sees half of one."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from hpc.io.errors import InputError

NOT_WRITTEN = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)
"""What the system says when a file cannot be written although it could be opened."""
_partials: set[Path] = set()


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raise InputError now if `path` could not be written later.

    Parameters
    ----------
    path : file to write; a file is made beside it and removed.
    """
    target = Path(path)
    try:
        _check_place(target)
        probe = partial_name(target)
        with open(probe, "wb"):
            pass
        probe.unlink()
    except OSError as error:
        raise InputError(f"{target}: cannot be written ({error.strerror})") from error


def _check_place(target: Path) -> None:
    """Raise InputError where a file cannot lie; OSError where that cannot even be asked."""
    if target.is_dir():
        raise InputError(f"{target}: is a folder; expected the name of a file to write")
    if target.exists() and not target.is_file():  # renaming over it would replace a device
        raise InputError(f"{target}: is not a regular file; expected the name of one to write")
    if target.parent.exists() and not target.parent.is_dir():
        raise InputError(f"{target}: {target.parent} is a file, expected a folder")
    if not target.parent.is_dir():
        raise InputError(f"{target}: the folder {target.parent} does not exist")


def partial_name(path: str | os.PathLike[str]) -> Path:
    """Return the name beside `path` under which a file is written before it is renamed.

    Parameters
    ----------
    path : file to write.

    Returns
    -------
    With this process's number in it.
    """
    target = Path(path)
    return target.with_name(f"{target.name}.partial-{os.getpid()}")


@contextlib.contextmanager
def written_aside(path: str | os.PathLike[str], keep: bool = True) -> Iterator[Path]:
    """Yield a name to write to; rename it to `path` on success, remove it on any exception.

    Parameters
    ----------
    path : file to write.
    keep : False for what is needed only while the block runs: then it is removed in any case.

    Raises
    ------
    InputError : the file cannot be written: no space left, and so on.
    """
    check_writable(path)
    partial = partial_name(path)
    _partials.add(partial)
    try:
        with _named_when_full(path):
            yield partial
            if keep:
                os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
        _partials.discard(partial)


@contextlib.contextmanager
def _named_when_full(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the system's word that nothing can be written into an InputError that names the file."""
    try:
        yield
    except OSError as error:
        if error.errno not in NOT_WRITTEN:
            raise
        raise InputError(f"{path}: cannot be written ({os.strerror(error.errno)})") from error


@contextlib.contextmanager
def folder_aside(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a new folder to write to; rename it to `path` on success, else remove it.

    Parameters
    ----------
    path : folder to make.

    Raises
    ------
    InputError : `path` is there and no empty folder; what is in it cannot be written.
    """
    target = Path(path)
    if not os.path.exists(target):
        check_writable(target)
    elif not target.is_dir() or any(target.iterdir()):
        raise InputError(f"{target}: is there already; expected a new folder or an empty one")
    with contextlib.ExitStack() as made:
        partial = partial_name(target)
        made.callback(shutil.rmtree, partial, ignore_errors=True)
        with _named_when_full(path):
            partial.mkdir()
            _partials.add(partial)
            made.callback(_partials.discard, partial)
            yield partial
            os.replace(partial, path)


def remove_partials() -> None:
    """Remove the files that are being written, for a process that is about to be ended."""
    for partial in list(_partials):
        with contextlib.suppress(OSError):
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            else:
                partial.unlink(missing_ok=True)
