"""Runs a program under a schedule or a baseline, epoch by epoch, and times it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Protocol

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.pipebd.baselines import Tasks
from hpc.pipebd.checkpoint_run import Keeping, relay_progress
from hpc.pipebd.losses_seen import LossLog
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.names import Choice
from hpc.pipebd.pipeline import Advance, Pipeline
from hpc.pipebd.program import Program
from hpc.pipebd.recorder import Tally
from hpc.pipebd.reducer import Reducer
from hpc.pipebd.rounds import Epoch, training_steps
from hpc.pipebd.shares import batch_shares
from hpc.pipebd.work import BlockWork
from hpc.report.gauges import Gauges
from hpc.report.meter import DONE_BEFORE

Losses = npt.NDArray[np.float64]


@dataclass
class Job:
    """What to run and how.

    Attributes
    ----------
    comm : MPI.Comm
        Of the run.
    choice : Choice
        Schedule or baseline.
    program : Program
        What is trained, or emulated.
    transport : Transport
        Of this rank.
    epochs : sequence of tuple of Round
        The rounds of the run.
    packing : sequence of sequence of int
        For LS the blocks of each rank.
    queue : int
        See `Pipeline`.
    tally : Tally
        Of this rank's spans.
    advance : callable
        Told of every round of this rank.
    keeping : Keeping or None
        Checkpoints of a schedule, if any; then the program is a `TrainingProgram` and the hooks
        have `Results`.
    gauges : Gauges
        Set, for who watches the run.
    """

    comm: MPI.Comm
    choice: Choice
    program: Program
    transport: Transport
    epochs: Sequence[Epoch]
    packing: Sequence[Sequence[int]] = ()
    queue: int = 2
    tally: Tally = field(default_factory=Tally)
    advance: Advance = lambda steps, note: None
    keeping: Keeping | None = None
    gauges: Gauges = field(default_factory=Gauges)

    @property
    def rounds(self) -> int:
        """How many rounds this rank runs."""
        once = sum(map(len, self.epochs))
        if self.choice.schedule is not None:
            return once
        own = (
            self.program.n_blocks if self.choice.name == "dp" else len(self.packing[self.comm.rank])
        )
        return once * own


class Hooks(Protocol):
    """What happens between epochs; `losses` are the rank's parts, (B,) float64."""

    def epoch_end(self, epoch: int, works: Sequence[BlockWork], losses: Losses) -> None:
        """All blocks have been trained for an epoch. Collective over the run.

        Parameters
        ----------
        epoch : int
            From 0.
        works : sequence of BlockWork
            The rank's blocks.
        losses : (B,) float64 array
            The rank's parts of the mean losses.
        """
        ...

    def task_epoch_end(
        self, epoch: int, works: Sequence[BlockWork], reducer: Reducer, losses: Losses
    ) -> None:
        """The last of `works` has been trained for an epoch (baselines). Collective over its group.

        Parameters
        ----------
        epoch : int
            From 0.
        works : sequence of BlockWork
            The blocks up to that one.
        reducer : Reducer
            Over the ranks that train it: all for DP, this one for LS.
        losses : (B,) float64 array
            The rank's part of its mean loss.
        """
        ...


class NoHooks:
    """Does nothing between epochs."""

    def epoch_end(self, epoch: int, works: Sequence[BlockWork], losses: Losses) -> None:
        """Do nothing.

        Parameters
        ----------
        epoch, works, losses
            As `Hooks`'s.
        """

    def task_epoch_end(
        self, epoch: int, works: Sequence[BlockWork], reducer: Reducer, losses: Losses
    ) -> None:
        """Do nothing.

        Parameters
        ----------
        epoch, works, reducer, losses
            As `Hooks`'s.
        """


@dataclass(frozen=True)
class Times:
    """What a run took, the same on all ranks.

    Attributes
    ----------
    seconds : float
        Of the slowest rank, between the first and the last step, validation left out.
    steps : int
        Training steps of this run, each one batch seen by every block; those before the checkpoint
        that it went on from are left out.
    idle : tuple of float
        Per rank the share of the time, in [0, 1], in which it had nothing to do.
    done_before : int
        Rounds before that checkpoint; 0 without one.
    """

    seconds: float
    steps: int
    idle: tuple[float, ...]
    done_before: int = 0

    @property
    def step_s(self) -> float:
        """Seconds per training step."""
        return self.seconds / max(1, self.steps)


def execute(job: Job, hooks: Hooks) -> Times:
    """Run all epochs. Collective.

    Parameters
    ----------
    job : Job
        The same on all ranks, but for what is the rank's own.
    hooks : Hooks
        Called between epochs.

    Returns
    -------
    Times
        The same on all ranks.

    Raises
    ------
    InputError : on one rank alone, for a loss that is not finite.
    AgreedError, Stopped : on all ranks, where checkpoints are kept: see `relay_progress`.
    """
    run = _relay if job.choice.schedule is not None else _tasks
    seconds, first = run(job, hooks)
    everybody = job.comm.allgather((seconds, job.tally.waiting_s()))
    slowest = max(spent for spent, _ in everybody)
    idle = tuple(1 - (spent - waited) / slowest for spent, waited in everybody)
    return Times(slowest, training_steps(job.epochs, first), idle, first)


def _relay(job: Job, hooks: Hooks) -> tuple[float, int]:
    """Run a schedule; return this rank's seconds in steps, and how many rounds were done before."""
    assert job.choice.schedule is not None
    pipeline = Pipeline(
        job.comm,
        job.choice.schedule,
        job.program,
        job.transport,
        job.tally,
        barrier=job.choice.barrier,
        queue=job.queue,
    )
    seconds = 0.0
    with relay_progress(
        job.keeping, job.comm, job.choice.schedule, job.queue, job.transport, pipeline.works, hooks
    ) as progress:
        job.gauges.waited_s = job.tally.waiting_s
        job.gauges.loss = lambda: _whole_loss(job, progress.log)
        job.advance(progress.done, DONE_BEFORE)
        for number, rounds in list(enumerate(job.epochs))[progress.epoch :]:
            job.transport.wait(job.comm.Ibarrier().Test)
            began = perf_counter()
            losses = pipeline.run(rounds, job.advance, progress)
            seconds += perf_counter() - began
            hooks.epoch_end(number, pipeline.works, losses)
    pipeline.free()
    return seconds, progress.done


def _whole_loss(job: Job, log: LossLog | None) -> float | None:
    """Return the last round's loss of this rank's blocks, as its share of the batch has it."""
    schedule = job.choice.schedule
    index = None if schedule is None else schedule.group_of(job.comm.rank)
    part = None if log is None or index is None else log.latest()
    if part is None or schedule is None or index is None:
        return None
    ranks = schedule.groups[index].ranks
    first, stop = batch_shares(job.program.batch, len(ranks))[job.comm.rank - ranks.start]
    return part * job.program.batch / (stop - first) if stop > first else None


def _tasks(job: Job, hooks: Hooks) -> tuple[float, int]:
    """Run a baseline; return this rank's seconds in steps, and 0: none were done before."""
    shared = job.choice.name == "dp"
    blocks = range(job.program.n_blocks) if shared else job.packing[job.comm.rank]
    group = job.comm.Dup() if shared else MPI.COMM_SELF.Dup()
    reducer = reducer_of(group, job.transport)
    tasks = Tasks(job.program, blocks, reducer, job.tally, job.comm.rank)
    seconds = 0.0
    job.transport.wait(job.comm.Ibarrier().Test)
    job.gauges.waited_s = job.tally.waiting_s
    job.advance(0, DONE_BEFORE)
    for block in blocks:
        for number, rounds in enumerate(job.epochs):
            began = perf_counter()
            losses = tasks.run(block, rounds, job.advance)
            seconds += perf_counter() - began
            hooks.task_epoch_end(number, tasks.works[: block + 1], reducer, losses)
    group.Free()
    return seconds, 0
