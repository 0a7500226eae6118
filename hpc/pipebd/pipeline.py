"""One rank's part of a schedule, run round by round. Paper: Pipe-BD, Algorithm 1."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.pipebd.checkpoint_run import Progress
from hpc.pipebd.loading import recorded_loads
from hpc.pipebd.losses_seen import LossLog
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.program import Program
from hpc.pipebd.recorder import Kind, Recorder
from hpc.pipebd.relay import Inlet, Outlet, neighbours
from hpc.pipebd.schedule import Schedule
from hpc.pipebd.shares import batch_shares
from hpc.pipebd.work import BlockWork, Round

Advance = Callable[[int, str], None]
"""Told of every so many rounds done, with a note."""


class Pipeline:
    """The blocks of this rank and its links to the groups before and after.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run, as many ranks as the schedule has. Construction and `free` are collective.
    schedule : Schedule
        The same on all ranks.
    program : Program
        Gives the blocks and, in the first group, the inputs.
    transport : Transport
        Of this rank, for the memory of the program's device.
    recorder : Recorder
        Told what the rank does when.
    barrier : bool
        Before the updates (TR); without, they are decoupled (DPU).
    queue : int
        Input buffers of a rank, at least 1.

    Attributes
    ----------
    works : list of BlockWork
        The rank's blocks, in order; none for an idle rank.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        schedule: Schedule,
        program: Program,
        transport: Transport,
        recorder: Recorder,
        *,
        barrier: bool = False,
        queue: int = 2,
    ) -> None:
        index = schedule.group_of(comm.rank)
        self._relays = comm.Dup()
        self._group = comm.Split(MPI.UNDEFINED if index is None else index, comm.rank)
        self._active = comm.Split(MPI.UNDEFINED if index is None else 0, comm.rank)
        self._program, self._transport, self._recorder = program, transport, recorder
        self._barrier, self._queue, self._rank = barrier, queue, comm.rank
        self.works: list[BlockWork] = []
        self._inlet: Inlet | None = None
        self._outlet: Outlet | None = None
        if index is not None:
            self._connect(schedule, index)

    def _connect(self, schedule: Schedule, index: int) -> None:
        group, program, transport = schedule.groups[index], self._program, self._transport
        reducer = reducer_of(self._group, transport)
        self.works = [program.work(block, reducer) for block in group.blocks]
        before, after = neighbours(schedule.groups, index)
        if before is None:
            rows = range(*batch_shares(program.batch, group.size)[reducer.rank])
            self._feed = program.feed(rows)
        else:
            boundary = program.boundary(group.blocks.start)
            self._inlet = Inlet(
                self._relays, transport, before, group, program.batch, boundary, self._queue,
                device=program.device,
            )  # fmt: skip
        if after is not None:
            self._outlet = Outlet(self._relays, transport, group, after, program.batch)

    def run(
        self,
        rounds: Sequence[Round],
        advance: Advance = lambda steps, note: None,
        progress: Progress | None = None,
    ) -> npt.NDArray[np.float64]:
        """Run an epoch's rounds. Called on all ranks with the same rounds.

        Parameters
        ----------
        rounds : sequence of Round
            Of one epoch.
        advance : callable
            Told of every round of this rank that is done.
        progress : Progress, optional
            Knows of rounds that are done, and is told of every other.

        Returns
        -------
        (B,) float64 array
            This rank's part of the blocks' mean losses over training steps; 0 for others' blocks.

        Raises
        ------
        InputError : on this rank alone, for a loss that is not finite.
        Stopped : on all ranks after the same round.
        """
        progress = progress or Progress()
        log = LossLog(self.works, rounds, self._program.device, self._rank)
        done = progress.begin(log)
        for place, turn in enumerate(self._turns(rounds[done:], log, done), start=done + 1):
            log.look(place)
            advance(1, "")
            progress.round_done(turn)
        self._transport.finish()
        return log.means(self._program.n_blocks)

    def _turns(self, rounds: Sequence[Round], log: LossLog, first: int) -> Iterator[Round]:
        """Run each round and yield it then; a rank without blocks has nothing to run."""
        if not self.works:
            yield from rounds
            return
        for place, (turn, x) in enumerate(zip(rounds, self._inputs(rounds), strict=True), first):
            self._students(turn, place, self._teachers(turn, x), log)
            if self._barrier:
                self._meet_and_update(turn)
            yield turn

    def _inputs(self, rounds: Sequence[Round]) -> Iterator[torch.Tensor]:
        """Yield the rank's share of each round's batch: loaded, or from the group before.

        One from the group before is valid until the next is asked for.
        """
        if self._inlet is None:
            yield from recorded_loads(self._feed, rounds, self._recorder, self.works[0].index)
            return
        self._inlet.expect(len(rounds))
        for turn in rounds:
            with self._recorder.span(Kind.RECEIVE, turn.number, self.works[0].index):
                x = self._inlet.take()
            yield x
            self._inlet.release()

    def _teachers(self, turn: Round, x: torch.Tensor) -> list[torch.Tensor]:
        """Run all teachers and send the last output; return the input and all outputs."""
        outputs = [x]
        for work in self.works:
            with self._recorder.span(Kind.TEACHER, turn.number, work.index):
                outputs.append(work.teacher(outputs[-1]))
            self._transport.poll()
        if self._outlet is not None:
            with self._recorder.span(Kind.SEND, turn.number, self.works[-1].index):
                self._outlet.send(outputs[-1])
        return outputs

    def _students(self, turn: Round, place: int, outputs: list[torch.Tensor], log: LossLog) -> None:
        """Train the students, block by block; without a barrier each is updated at once."""
        for number, work in enumerate(self.works):
            x, target = outputs.pop(0), outputs[0]  # what is used up is let go of
            work.begin(turn)
            with self._recorder.span(Kind.STUDENT, turn.number, work.index):
                log.put(place, number, work.student(x, target))
            if self._group.size > 1:
                with self._recorder.span(Kind.REDUCE, turn.number, work.index):
                    work.reduce()
            if not self._barrier:
                self._update(turn, work)
            self._transport.poll()

    def _update(self, turn: Round, work: BlockWork) -> None:
        with self._recorder.span(Kind.UPDATE, turn.number, work.index):
            work.update()

    def _meet_and_update(self, turn: Round) -> None:
        with self._recorder.span(Kind.BARRIER, turn.number, self.works[0].index):
            self._transport.wait(self._active.Ibarrier().Test)
        for work in self.works:
            self._update(turn, work)

    def free(self) -> None:
        """Free the communicators. Collective."""
        for comm in (self._relays, self._group, self._active):
            if comm != MPI.COMM_NULL:
                comm.Free()
