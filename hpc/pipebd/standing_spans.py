"""A job of Pipe-BD under a watchdog: its spans say where the rank stands and whom it waits for."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping

from hpc.comm.standing import Awaited, Standing
from hpc.comm.watchdog import watched
from hpc.pipebd.execution import Job
from hpc.pipebd.names import Choice
from hpc.pipebd.recorder import Kind, Recorder
from hpc.pipebd.relay import neighbours

BETWEEN = "the other ranks, if it is the end of an epoch"


class StandingSpans:
    """Tells a standing of every span and passes it on.

    Parameters
    ----------
    standing : Standing
        That a watchdog reads.
    awaited : mapping of Kind to Awaited
        For whom a kind of span waits; in the others the rank computes.
    then : Recorder
        To which spans are passed on.
    """

    def __init__(self, standing: Standing, awaited: Mapping[Kind, Awaited], then: Recorder) -> None:
        self._standing, self._awaited, self._then = standing, awaited, then

    @contextlib.contextmanager
    def span(self, kind: Kind, step: int, block: int) -> Iterator[None]:
        """Say that the span begins, and that it is over.

        Parameters
        ----------
        kind, step, block
            As `Recorder`'s.
        """
        self._standing.at(kind.value, block, self._awaited.get(kind))
        with self._then.span(kind, step, block):
            yield
        self._standing.at(f"after {kind.value}", block, BETWEEN)


def awaited_by(choice: Choice, rank: int, size: int) -> dict[Kind, Awaited]:
    """Return for whom a rank waits in each kind of span; in the others it computes. Pure.

    Parameters
    ----------
    choice : Choice
        Schedule or baseline.
    rank, size : int
        In the run.

    Returns
    -------
    dict of Kind to Awaited
        Empty for an idle rank, and for LS.
    """

    def ranks(found: range | list[int]) -> Awaited:
        return lambda: found

    everybody = [other for other in range(size) if other != rank]
    schedule = choice.schedule
    if schedule is None:
        return {Kind.REDUCE: ranks(everybody)} if choice.name == "dp" else {}
    index = schedule.group_of(rank)
    if index is None:
        return {}
    before, after = neighbours(schedule.groups, index)
    active = [other for group in schedule.groups for other in group.ranks if other != rank]
    found = {
        Kind.REDUCE: ranks([other for other in schedule.groups[index].ranks if other != rank]),
        Kind.BARRIER: ranks(active),
        Kind.VALIDATE: "the group before, or at work",
    }
    if before is not None:
        found[Kind.RECEIVE] = ranks(before.ranks)
    if after is not None:
        found[Kind.SEND] = ranks(after.ranks)
    return found


@contextlib.contextmanager
def watched_job(job: Job, stall_s: float | None) -> Iterator[None]:
    """Watch over a job that runs in the block; see `watched`. Local.

    A rank that the schedule leaves idle, or that has run all its rounds, may rest.

    Parameters
    ----------
    job : Job
        Its `advance` and its tally's recorder are wrapped.
    stall_s : float or None
        Seconds without progress after which the watchdog ends the whole job; None: nobody watches.
    """
    if stall_s is None:
        yield
        return
    standing = Standing("round", "block")
    awaited = awaited_by(job.choice, job.comm.rank, job.comm.size)
    job.tally.show(lambda then: StandingSpans(standing, awaited, then))
    advance, rounds = job.advance, job.rounds

    def counted(steps: int, note: str) -> None:
        advance(steps, note)
        standing.count(steps)
        if standing.done >= rounds:
            standing.rest()

    job.advance = counted
    schedule = job.choice.schedule
    if not rounds or (schedule is not None and schedule.group_of(job.comm.rank) is None):
        standing.rest()
    with watched(job.comm, standing, stall_s):
        yield
