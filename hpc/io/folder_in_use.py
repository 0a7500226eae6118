"""A folder of checkpoints belongs to one run at a time: a file in it is locked while that runs.

The lock is the kernel's (flock), so it goes with the process that holds it, however that ends.
File systems that know no locks (some mounts of Lustre) are used without.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator
from pathlib import Path

from hpc.io.errors import InputError

NAME = ".in-use"
"""Of the locked file, which says by whom."""
PATIENCE_S = 10.0
"""How long a run that has been killed may take to be gone."""
LOOK_S = 0.1
_HELD = (errno.EWOULDBLOCK, errno.EACCES)


@contextlib.contextmanager
def folder_in_use(root: Path, patience_s: float = PATIENCE_S) -> Iterator[None]:
    """Hold a folder during the block.

    Parameters
    ----------
    root : Path
        The folder, which exists.
    patience_s : float
        Seconds to wait for another holder to let go.

    Yields
    ------
    None
        While the folder is held.

    Raises
    ------
    InputError
        Another process holds it still.
    """
    path = root / NAME
    try:
        file = os.open(path, os.O_RDONLY | os.O_CREAT, 0o666)
    except OSError:  # whoever cannot write here is told so when checkpoints are looked for
        yield
        return
    try:
        file = _lockable(file, path)
        _lock(file, root, patience_s)
        _say_who(path)
        yield
    finally:
        os.close(file)


def _lockable(file: int, path: Path) -> int:
    """Return a file that can be locked: open for writing where that takes it, as on NFS.

    One that is open for reading keeps no file system from being made read-only.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno == errno.EBADF:
            with contextlib.suppress(OSError):
                writable = os.open(path, os.O_RDWR)
                os.close(file)
                return writable
    return file


def _lock(file: int, root: Path, patience_s: float) -> None:
    until = time.monotonic() + patience_s
    while not _taken(file):
        if time.monotonic() > until:
            holder = os.pread(file, 200, 0).decode("utf-8", "replace").strip()
            by = f" ({holder})" if holder else ""
            raise InputError(
                f"--checkpoint {root}: in use by another run{by}; wait for its end, or choose "
                "another folder"
            )
        time.sleep(LOOK_S)


def _say_who(path: Path) -> None:
    with contextlib.suppress(OSError):  # a full disk
        path.write_text(f"process {os.getpid()} on {socket.gethostname()}\n", encoding="utf-8")


def _taken(file: int) -> bool:
    """Return whether the file is ours now; also where the file system has no locks."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in _HELD
    return True
