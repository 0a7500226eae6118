"""What is written of a checkpoint in the background: each rank's part, and the index.

Threads do it, without MPI; what has to be told is told by the rank itself, between steps.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.agreement import Until
from hpc.comm.checkpoint_start import Start
from hpc.comm.notice import notice
from hpc.io.checkpoint import DIGEST_BYTES, Index, Written, write_index, write_part
from hpc.io.checkpoint_folder import checkpoint_path, prune, remove
from hpc.io.checkpoint_options import CheckpointOptions
from hpc.io.errors import InputError

NO_PART = -1

Array = npt.NDArray[Any]
Longs = npt.NDArray[np.int64]


class Source(Protocol):
    """What a rank has to keep. part : number of its file; None if others keep the same."""

    part: int | None

    def copy(self) -> None:
        """Copy what training changes to host memory that is made once."""
        ...

    def arrays(self) -> Iterable[tuple[str, Array]]:
        """Return what was copied, one-dimensional, as the file is to have it. In a thread."""
        ...

    def position(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return what is not of one rank, for the index; called on the first rank only."""
        ...


@dataclass(frozen=True)
class Place:
    """A checkpoint that is being made. position, arrays : as in `Index`."""

    number: int
    step: int
    position: dict[str, Any]
    arrays: dict[str, Array]


class PartWriter:
    """Writes a rank's file, and tells the first rank of it.

    A record, (5,) int64, holds an error number (0 for none), the part, and size and digest.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the run; used as it is.
    options : CheckpointOptions
        The folder.
    source : Source
        What this rank keeps.
    until : callable
        How to wait.
    number : int
        Of the newest checkpoint there is, 0 without: new ones have larger numbers.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        options: CheckpointOptions,
        source: Source,
        until: Until,
        number: int,
    ) -> None:
        self._comm, self._root, self._source, self._until = comm, options.root, source, until
        self._pool = ThreadPoolExecutor(1, "checkpoint")
        self._writing: Future[Longs] | None = None
        self._number = self._written = self._told = number
        self._record = np.zeros(3 + DIGEST_BYTES // 8, np.int64)
        self._records = np.zeros((comm.size if comm.rank == 0 else 0, len(self._record)), np.int64)
        self._gather: MPI.Request | None = None
        self._came = False

    def write(self, number: int) -> None:
        """Begin to write what the source has copied, in a thread; nothing may be being written.

        Parameters
        ----------
        number : int
            Of the checkpoint.
        """
        self._number = number
        self._writing = self._pool.submit(self._write, number)

    def _write(self, number: int) -> Longs:
        part = self._source.part
        if part is None:
            return _record(0, NO_PART, Written(0, bytes(DIGEST_BYTES)))
        try:
            path = checkpoint_path(self._root, number)
            return _record(0, part, write_part(path, part, self._source.arrays()))
        except (InputError, OSError) as error:
            return _record(_error_number(error), part, Written(0, bytes(DIGEST_BYTES)))

    def written(self) -> int:
        """Return the number of the last that this rank has written, or failed to.

        Returns
        -------
        int
            At the beginning the one given to the constructor.
        """
        if self._writing is not None and self._writing.done():
            self._record[:], self._writing = self._writing.result(), None
            self._written = self._number
        return self._written

    def tell(self, number: int) -> None:
        """Begin to tell the first rank of this rank's file, once. Collective.

        Parameters
        ----------
        number : int
            Of the checkpoint, which this rank has written; one that was told already is left out.
        """
        if self._told < number:
            self._told = number
            self._gather = self._comm.Igather(
                self._record, self._records if self._comm.rank == 0 else None
            )

    def settle_tell(self) -> None:
        """Wait until the first rank has been told."""
        if self._gather is not None:
            self._until(self._gather.Test)
            self._gather, self._came = None, True

    def told(self) -> Longs | None:
        """Return the records of all ranks when they are there, once; on the first rank.

        Returns
        -------
        (size, 5) int64 array or None
            A record a rank; on other ranks (0, 5). None before, and when it was returned already.
        """
        if self._gather is not None and self._gather.Test():
            self._gather, self._came = None, True
        if not self._came:
            return None
        self._came = False
        return self._records

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()


def _record(status: int, part: int, written: Written) -> Longs:
    return np.array([status, part, written.size, *np.frombuffer(written.digest, np.int64)])


def _error_number(error: BaseException) -> int:
    """Return what the system said; an InputError is raised from that."""
    for one in (error, error.__cause__):
        if isinstance(one, OSError) and one.errno:
            return one.errno
    return errno.EIO


class IndexWriter:
    """The first rank's part: writes the index when all parts are there, cleans up, says so.

    Parameters
    ----------
    options : CheckpointOptions
        The folder, and how many complete checkpoints are kept.
    run : dict
        What the run is, see `Index`.
    start : Start
        Where it began: the newest number, and the checkpoints known to be broken.

    Attributes
    ----------
    closed : number of the last checkpoint that is complete or given up.
    failure : why the last one is not complete, or None.
    completed : how many are, of this run.
    """

    def __init__(self, options: CheckpointOptions, run: dict[str, Any], start: Start) -> None:
        self.root, self._keep, self._run = options.root, options.keep, run
        self._pool = ThreadPoolExecutor(1, "index")
        self._broken = start.broken
        self._newest = start.step if start.index is not None else None
        self._job: tuple[Place, Future[str | None]] | None = None
        self.closed, self.completed = start.number, 0
        self.failure: str | None = None

    def write(self, place: Place, records: Longs) -> None:
        """Begin to write the index, in a thread; where a part is missing, to remove the others.

        Parameters
        ----------
        place : Place
            The checkpoint.
        records : (size, 5) int64 array
            From `PartWriter.told`; copied.
        """
        self._job = (place, self._pool.submit(self._write, place, records.copy()))

    def _write(self, place: Place, records: Longs) -> str | None:
        """Return why the checkpoint is not complete, None if it is."""
        path = checkpoint_path(self.root, place.number)
        failed = np.flatnonzero(records[:, 0])
        if len(failed):
            remove(path)
            return f"rank {failed[0]}: {os.strerror(int(records[failed[0], 0]))}"
        kept = sorted(records[records[:, 1] != NO_PART].tolist(), key=lambda record: record[1])
        parts = tuple(Written(size, np.array(digest).tobytes()) for _, _, size, *digest in kept)
        index = Index(path, place.step, self._run, place.position, place.arrays, parts)
        try:
            write_index(index)
        except (InputError, OSError) as error:
            remove(path)
            return f"index: {os.strerror(_error_number(error))}"
        with contextlib.suppress(OSError, InputError):
            prune(self.root, self._keep, place.number, self._broken)
        return None

    def idle(self) -> bool:
        """Return whether nothing is being written.

        Returns
        -------
        bool
            True also for a result that `look` has not noted yet.
        """
        return self._job is None or self._job[1].done()

    def look(self) -> None:
        """Take note of an index that is done, and say what went wrong, once."""
        if self._job is None or not self._job[1].done():
            return
        (place, future), self._job = self._job, None
        before, self.failure = self.failure, future.result()
        self.closed = place.number
        if self.failure is None:
            self.completed, self._newest = self.completed + 1, place.step
        elif before is None:
            notice(f"{self.newest_text()}; the run goes on")

    def newest_text(self) -> str:
        """Return what went wrong, and what there is.

        Returns
        -------
        str
            'the checkpoint could not be written (WHY); the newest is of step 100'.
        """
        newest = (
            "there is none" if self._newest is None else f"the newest is of step {self._newest}"
        )
        return f"the checkpoint could not be written ({self.failure}); {newest}"

    def close(self) -> None:
        """End the thread."""
        self._pool.shutdown()
