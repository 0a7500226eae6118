"""Memory that MPICH's ranks of a host share: its name goes once all of them have it.

MPICH takes the name away when MPI ends. When a rank is killed nobody would, and the memory would
be lost until the host starts again.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from mpi4py import MPI

PROC = Path("/proc")
FOLDER, BEGIN = Path("/dev/shm"), "mpich_shm_"
OLD_S = 600.0
"""MPI has long started everywhere when a segment is that old: only a name that was left."""


def unname_segments(comm: MPI.Comm) -> None:
    """Remove the names of the segments that this process maps; they end with their ranks.

    Collective. To be called once MPI has started. What a job left here that was killed while
    MPI started goes as well: names of this user's that are old and that no process maps.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks that share segments: COMM_WORLD.
    """
    comm.Barrier()  # from here on nobody has still to open them
    for path in _mapped(PROC / "self"):
        path.unlink(missing_ok=True)
    left = set(_left_over())
    for path in left and left - _mapped_by_anyone():
        path.unlink(missing_ok=True)


def _left_over() -> Iterator[Path]:
    for path in FOLDER.glob(f"{BEGIN}*"):
        with contextlib.suppress(OSError):
            facts = path.stat()
            if facts.st_uid == os.geteuid() and time.time() - facts.st_mtime > OLD_S:
                yield path


def _mapped_by_anyone() -> set[Path]:
    """Return the segments of all processes that this user may look into: his own at least."""
    processes = (path for path in PROC.iterdir() if path.name.isdigit())
    return {segment for process in processes for segment in _mapped(process)}


def _mapped(process: Path) -> set[Path]:
    """Return the segments that a process maps and that still have a name."""
    with contextlib.suppress(OSError):
        lines = (process / "maps").read_text(errors="replace").splitlines()
        names = (words[5] for words in map(str.split, lines) if len(words) == 6)
        return {Path(name) for name in names if name.startswith(f"{FOLDER}/{BEGIN}")}
    return set()
