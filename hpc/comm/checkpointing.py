"""Checkpoints of a run: when, agreed on by all ranks; written in the background.

After every step each rank tells the others, by an `Agreement`, whether it was asked to stop and
which checkpoint it has written; the first rank also, which one is due. What they agree on they
do after the same step. A rank copies its state and goes on; a thread writes the copy. When all
have written, sizes and digests go to the first rank, whose thread writes the index.
"""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator
from time import monotonic, perf_counter
from typing import Any

import numpy as np
from mpi4py import MPI

from hpc.comm.agreement import Agreement, Until
from hpc.comm.checkpoint_start import Start
from hpc.comm.checkpoint_writing import IndexWriter, PartWriter, Place, Source
from hpc.comm.interrupt import StopRequest
from hpc.comm.notice import notice
from hpc.comm.waiting import Yielding
from hpc.io.checkpoint_folder import checkpoint_path
from hpc.io.checkpoint_options import CheckpointOptions

EXIT_STOPPED = 3
"""Exit code of a run that was asked to stop and has written a checkpoint."""


class Stopped(Exception):
    """A run was asked to stop: raised on all ranks after the same step.

    Parameters
    ----------
    message : str
        Which signal asked, after which step, and what was kept.
    code : int
        For the exit: EXIT_STOPPED, or 1 where the checkpoint could not be written.
    """

    def __init__(self, message: str, code: int) -> None:
        super().__init__(message)
        self.code = code


class Checkpoints:
    """Keeps the checkpoints of one run. Construction, `step_done` and `finish` are collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the run; a duplicate of it is used.
    options : CheckpointOptions
        Where, how often, how many.
    run : dict
        What the run is, see `Index`.
    start : Start
        Where it began.
    source : Source
        What this rank keeps.
    asked : StopRequest
        Whether this process was asked to stop; looked at after every step.
    delay : int
        Steps that ranks may be apart, >= 1.
    until : callable or None
        How to wait; None: `Yielding`.

    Attributes
    ----------
    copy_s : seconds that this rank has stood still for copies.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        options: CheckpointOptions,
        run: dict[str, Any],
        start: Start,
        source: Source,
        asked: StopRequest,
        delay: int = 1,
        until: Until | None = None,
    ) -> None:
        until = until or Yielding().until
        self._agreement = Agreement(comm, 3, delay, until)
        self._comm, self._until, self._asked = self._agreement.comm, until, asked
        self._first, self._source, self._run = comm.rank == 0, source, run
        self._part = PartWriter(self._comm, options, source, until, start.number)
        self._index = IndexWriter(options, run, start)
        self._every, self._last = options.every, (start.step, monotonic())
        self._due = self._number = start.number
        self._place: Place | None = None
        self.copy_s = 0.0

    @property
    def written(self) -> int:
        """How many were completed; on the first rank."""
        return self._index.completed

    def step_done(self, step: int) -> None:
        """Say that `step` steps of the run are done.

        Parameters
        ----------
        step : int
            Steps since the run's first beginning; called once a step, on all ranks.

        Raises
        ------
        Stopped : on all ranks, when any was asked to stop; a checkpoint was written, or tried.
        """
        self._look()
        mine = (self._asked.number, self._due_after(step), -self._part.written())
        agreed = self._agreement.turn(mine)
        if agreed is None:
            return
        asked, due, unwritten = agreed.tolist()
        if -unwritten >= self._number:
            self._part.tell(self._number)
        if asked:
            self._stop(step, asked)
        elif due > self._number:
            self._begin(due, step)

    def _due_after(self, step: int) -> int:
        """Return the number of the checkpoint that is to be made, as the first rank sees it."""
        if not self._first:
            return 0
        soonest = (step + self._agreement.delay, monotonic())
        if self._index.closed == self._due and self._every.due(self._last, soonest):
            self._due, self._last = self._due + 1, soonest
        return self._due

    def _begin(self, number: int, step: int) -> None:
        self._part.settle_tell()
        began = perf_counter()
        self._source.copy()
        if self._first:
            self._place = Place(number, step, *self._source.position())
        self.copy_s += perf_counter() - began
        self._number = number
        self._part.write(number)

    def _look(self) -> None:
        """Go on with what is under way, as far as that needs no waiting."""
        told = self._part.told()
        if self._first and self._place is not None and told is not None:
            self._index.write(self._place, told)
            self._place = None
        self._index.look()

    def _settle(self) -> None:
        """Wait until nothing is under way. Collective."""
        self._until(lambda: self._part.written() == self._number)
        self._part.tell(self._number)
        self._part.settle_tell()
        self._look()
        if self._first:
            self._until(self._index.idle)
            self._index.look()

    def _stop(self, step: int, number: int) -> None:
        self._settle()
        self._begin(self._number + 1, step)
        self._settle()
        done = np.array([self._first and self._index.failure is None], np.int64)
        self._until(self._comm.Ibcast(done).Test)
        self._close()
        name = signal.Signals(number).name
        if done[0]:
            path = checkpoint_path(self._index.root, self._number)
            raise Stopped(
                f"stopped by {name} after step {step}, kept in {path}; the same command goes on "
                "from there",
                EXIT_STOPPED,
            )
        raise Stopped(f"stopped by {name} after step {step}; {self._index.newest_text()}", 1)

    def finish(self) -> None:
        """Wait for what is under way; the run is over."""
        self._settle()
        self._close()

    def _close(self) -> None:
        self.abandon()
        self._agreement.free()

    def abandon(self) -> None:
        """Wait for what this rank is writing, and write no more. Local."""
        self._part.close()
        self._index.close()


class NoCheckpoints:
    """Keeps none."""

    copy_s, written = 0.0, 0

    def step_done(self, step: int) -> None:
        """Do nothing.

        Parameters
        ----------
        step : int
            Not looked at.
        """

    def finish(self) -> None:
        """Do nothing."""


@contextlib.contextmanager
def kept(keeper: Checkpoints) -> Iterator[None]:
    """Finish `keeper` after the block; abandon it when MPI fails, as others may be gone.

    Parameters
    ----------
    keeper : Checkpoints
        Of this rank. Finishing is collective; after other exceptions it is left as it is.
    """
    try:
        yield
        keeper.finish()
    except MPI.Exception:
        keeper.abandon()
        raise


def say_stopped(comm: MPI.Comm, stopped: Stopped) -> int:
    """Say on the first rank why a run has stopped. Local.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run; only its rank is asked for.
    stopped : Stopped
        As it was raised.

    Returns
    -------
    int
        Exit code.
    """
    if comm.rank == 0:
        notice(str(stopped))
    return stopped.code
