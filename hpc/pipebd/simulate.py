"""A schedule played forward in time without running it: who does what when. Pure.

Paper: pipe-bd, algorithm 1 and its timelines (Fig. 3 and 5). On a rank a step is: receive
(group 0: load); the teachers of all its blocks, so that the next group can start early; send;
then block by block student, gradient all-reduce over the group, update.
"""

from __future__ import annotations

from dataclasses import dataclass

from hpc.io.errors import InputError
from hpc.pipebd.cost import arrival_s, student_s, teacher_s
from hpc.pipebd.profile_data import Profile, at_size
from hpc.pipebd.schedule import Group, Schedule
from hpc.pipebd.shares import batch_shares, relay


@dataclass(frozen=True)
class Event:
    """Something a rank does.

    Attributes
    ----------
    rank, step : int
        Whose, and in which step, both from 0.
    block : int
        For load, receive and send the one whose input or output it is.
    kind : str
        'load', 'receive', 'teacher', 'send', 'student', 'reduce' or 'update'.
    start_s, end_s : float
        Seconds from the start. Sends and updates take no time of their own (they overlap, and are
        part of the student's time); their start says when.
    """

    rank: int
    step: int
    block: int
    kind: str
    start_s: float
    end_s: float


def simulate(
    profile: Profile, schedule: Schedule, steps: int, barrier: bool = False, queue: int = 2
) -> list[Event]:
    """Return the events of `steps` steps, by step and group.

    Parameters
    ----------
    profile : Profile
        Costs; architecture rounds are spread over the steps, as in `cost`.
    schedule : Schedule
        A valid one for the profile.
    steps : int
        How many, at least 1.
    barrier : bool
        Before the updates (TR); without, updates are decoupled (DPU).
    queue : int
        How many messages a rank may have sent that its receivers have not yet taken, at least 1.

    Returns
    -------
    list of Event
        A rank's in the order of their begin; it waits in the gap between two, and in a reduce.

    Raises
    ------
    InputError : a queue or a number of steps below 1; see `Profile.for_ranks`.
    """
    if min(queue, steps) < 1:
        raise InputError(f"queue {queue}, {steps} steps; both must be at least 1")
    play = _Play(profile.for_ranks(schedule.n_ranks), schedule, queue)
    for step in range(steps):
        sent: list[float] = []
        for index in range(len(schedule.groups)):
            play.input_and_teachers(index, step, sent)
            sent = play.send(index, step)
            play.students(index, step, barrier)
        if barrier:
            play.meet_and_update(step)
    return play.events


class _Play:
    """The state of a simulation: when each rank is free, and when its inputs were there."""

    def __init__(self, profile: Profile, schedule: Schedule, queue: int) -> None:
        self.events: list[Event] = []
        self._profile, self._groups, self._queue = profile, schedule.groups, queue
        self._free = [0.0] * schedule.n_ranks
        self._taken: dict[tuple[int, int], float] = {}

    def _spend(
        self, rank: int, step: int, block: int, kind: str, took: float, ready: float = 0.0
    ) -> None:
        """Let a rank do something when it is free and what that needs is ready."""
        begin = max(ready, self._free[rank])
        self._free[rank] = begin + took
        self.events.append(Event(rank, step, block, kind, begin, begin + took))

    def input_and_teachers(self, index: int, step: int, sent: list[float]) -> None:
        """Play load or receive, then the teachers. sent : when the group before did."""
        group, profile = self._groups[index], self._profile
        first = group.blocks.start
        senders = _neighbours(profile.batch, len(sent), group.size)
        shares = batch_shares(profile.batch, group.size)
        for local, (rank, (start, stop)) in enumerate(zip(group.ranks, shares, strict=True)):
            ready = max((sent[sender] for sender in senders[local]), default=0.0)
            kind = "receive" if index else "load"
            self._spend(rank, step, first, kind, arrival_s(profile, first) / group.size, ready)
            self._taken[rank, step] = self._free[rank]
            for block in group.blocks:
                took = teacher_s(profile, block, stop - start) / profile.ranks[rank].speed
                self._spend(rank, step, block, "teacher", took)

    def send(self, index: int, step: int) -> list[float]:
        """Play the sends of a group, if one follows; return when each of its ranks has sent."""
        group = self._groups[index]
        for after in self._groups[index + 1 : index + 2]:
            receivers = _neighbours(self._profile.batch, after.size, group.size)
            for local, rank in enumerate(group.ranks):
                earlier = [(after.ranks[one], step - self._queue) for one in receivers[local]]
                room = max(self._taken.get(key, 0.0) for key in earlier)
                self._spend(rank, step, group.blocks.stop - 1, "send", 0.0, room)
        return [self._free[rank] for rank in group.ranks]

    def students(self, index: int, step: int, barrier: bool) -> None:
        """Play student and all-reduce of a group's blocks, and without a barrier the updates."""
        group, profile = self._groups[index], self._profile
        shares = batch_shares(profile.batch, group.size)
        for block in group.blocks:
            for rank, (start, stop) in zip(group.ranks, shares, strict=True):
                took = student_s(profile, block, stop - start) / profile.ranks[rank].speed
                self._spend(rank, step, block, "student", took)
            if group.size > 1:
                self._reduce(group, step, block)
            if not barrier:
                self._update(group.ranks, step, range(block, block + 1), 0.0)

    def _reduce(self, group: Group, step: int, block: int) -> None:
        """Play an all-reduce: it ends together, its begin is when the rank itself is there."""
        slowest = min(self._profile.ranks[rank].speed for rank in group.ranks)
        took = at_size(self._profile.allreduce_s, group.size, block) / slowest
        ends = max(self._free[rank] for rank in group.ranks) + took
        for rank in group.ranks:
            self._spend(rank, step, block, "reduce", ends - self._free[rank])

    def _update(self, ranks: range, step: int, blocks: range, ready: float) -> None:
        for rank in ranks:
            for block in blocks:
                self._spend(rank, step, block, "update", 0.0, ready)

    def meet_and_update(self, step: int) -> None:
        """Let all ranks wait for the last one, then update."""
        all_there = max(self._free)
        for group in self._groups:
            self._update(group.ranks, step, group.blocks, all_there)


def _neighbours(batch: int, others: int, size: int) -> list[list[int]]:
    """Return for each of `size` ranks which of the `others` hold samples of its share."""
    found: list[list[int]] = [[] for _ in range(size)]
    for message in relay(batch, others, size) if others else ():
        found[message.receiver].append(message.sender)
    return found
