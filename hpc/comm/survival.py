"""A run that outlives the death of ranks: those that are left begin again, as fewer.

By ULFM (user-level failure mitigation; in Open MPI 5): a call that needs a dead rank raises.
The rank that sees it revokes all communicators of the attempt, which lets the calls of all
others raise; all vote on how the attempt has ended, and make a smaller communicator.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable
from time import monotonic
from typing import NoReturn

from mpi4py import MPI

from hpc.comm.abilities import abilities
from hpc.comm.family import Family
from hpc.comm.gpu_support import loaded_library
from hpc.comm.interrupt import stop_requests
from hpc.comm.mpi_start import library_name
from hpc.comm.notice import notice
from hpc.comm.survival_vote import Vote, verdict
from hpc.comm.survival_words import Rank, cannot, died
from hpc.comm.world import outcome
from hpc.io.errors import EXIT_BAD_INPUT

BY_DEATH = (MPI.ERR_PROC_FAILED, MPI.ERR_PROC_FAILED_PENDING, MPI.ERR_REVOKED)
"""Classes of errors that only a death causes; it may cause others as well."""
NOTICED_S = 2.0
"""An error of another class is by a death if one becomes known within this time."""
SETTLED_S = 0.5
"""Time for what is on its way between living ranks, before its buffers are let go of."""
GONE = -1

Attempt = Callable[[MPI.Intracomm], int]


def survive(world: MPI.Intracomm, attempt: Attempt, again: bool = True) -> int:
    """Run `attempt` until it ends with no rank lost on the way. Collective.

    Where ULFM is there this ends the process, with the attempt's exit code, and returns never:
    MPI cannot be finalized when a rank is dead. Where it is not, the first rank says so, and
    `attempt(world)` is all.

    Parameters
    ----------
    world : MPI.Intracomm
        Of all ranks of the job; where ULFM is there, attempts get a duplicate of it.
    attempt : callable
        Is given a communicator of all ranks that are left, and returns an exit code. It finds
        what was done before in files. A signal in between is noted for the next one.
    again : bool
        False where nothing is to go on: a death ends the job with exit code 1, by this, as
        MPI's Abort ends only its own rank where ranks are outlived.

    Returns
    -------
    int
        Exit code of the attempt, where there is no ULFM.
    """
    able = abilities(loaded_library(), os.environ).survives
    if able != "yes":
        if world.rank == 0:
            notice(cannot(able, library_name()))
        return attempt(world)
    crew = _Crew(world, again)
    with stop_requests() if again else contextlib.nullcontext():
        while True:
            crew.attempt(attempt)
            crew.shrink()


class _Crew:
    """The ranks that are left. again : whether they go on. Construction is collective."""

    def __init__(self, world: MPI.Intracomm, again: bool) -> None:
        self._comm, self._again = Family.of(world.Dup()), again
        mine = world.rank, MPI.Get_processor_name()
        self._ranks = [Rank(*one) for one in world.allgather(mine)]
        self._error: MPI.Exception | None = None

    def attempt(self, run: Attempt) -> None:
        """Run an attempt; return when it has to be repeated, end the process otherwise."""
        code, alone = outcome(lambda: self._until_death(run), self._comm)
        vote = Vote.ALL
        if alone or code == GONE:
            vote &= ~Vote.ENDED
            self._comm.revoke()
        if alone:
            vote &= ~(Vote.FED if code == EXIT_BAD_INPUT else Vote.SOUND)
        found = verdict(self._everybodys(vote), code)
        if found is not None:
            _leave(found)
        self._comm.revoke()

    def _until_death(self, run: Attempt) -> int:
        try:
            return run(self._comm)
        except MPI.Exception as error:
            if not self._by_death(error):
                raise
            self._error = error
            return GONE

    def _by_death(self, error: MPI.Exception) -> bool:
        if error.Get_error_class() in BY_DEATH:
            return True
        deadline = monotonic() + NOTICED_S
        while not self._comm.revoked and not self._comm.Get_failed().size:
            if monotonic() > deadline:
                return False
            MPI.COMM_SELF.Iprobe()
        return True

    def _everybodys(self, vote: Vote) -> Vote:
        """Return what all ranks that live have voted, the same on all. Collective."""
        while True:
            if self._comm.Get_failed().size:
                vote &= ~Vote.WHOLE
            self._comm.Ack_failed()
            try:
                return Vote(self._comm.Agree(vote))
            except MPI.Exception as error:  # on all, when any knows of a death that others do not
                if error.Get_error_class() not in BY_DEATH:
                    raise
                vote &= ~Vote.WHOLE

    def shrink(self) -> None:
        """Make a communicator of those that live; the first says who does not. Collective."""
        left = Family.of(self._comm.Shrink())
        gone = MPI.Group.Difference(self._comm.group, left.group)
        numbers = MPI.Group.Translate_ranks(gone, list(range(gone.size)), self._comm.group)
        lost = [self._ranks[number] for number in numbers]
        self._ranks = [one for one in self._ranks if one not in lost]
        if left.rank == 0:
            notice(died(lost, self._ranks, self._again))
        if not self._again:
            _leave(1)
        self._comm = left
        self._let_go()

    def _let_go(self) -> None:
        """Free the memory of the last attempt, which its exception holds."""
        deadline = monotonic() + SETTLED_S
        while monotonic() < deadline:
            MPI.COMM_SELF.Iprobe()
            os.sched_yield()
        self._error = None
        gc.collect()


def _leave(code: int) -> NoReturn:
    """End the process. All ranks do, so the launcher sees one exit code."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
