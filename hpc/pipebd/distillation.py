"""Distillation with what belongs to it between epochs: losses, validation, best epochs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from mpi4py import MPI
from torch import nn

from hpc.pipebd.best_states import BestStates
from hpc.pipebd.execution import Job, Losses, Times, execute
from hpc.pipebd.history import History
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.names import one_group
from hpc.pipebd.reducer import Reducer
from hpc.pipebd.schedule import Schedule
from hpc.pipebd.shares import batch_shares
from hpc.pipebd.training_data import to_device
from hpc.pipebd.training_program import TrainingProgram
from hpc.pipebd.training_work import TrainingWork
from hpc.pipebd.validation import Validation, Validator
from hpc.pipebd.work import BlockWork

State = dict[str, torch.Tensor]


@dataclass(frozen=True)
class Distilled:
    """The end of a run, on every rank.

    Attributes
    ----------
    times : Times
        What it took.
    history : History
        What the epochs gave.
    students : list of dict of str to tensor, or None
        Per block the state that was kept, in host memory, on rank 0; None elsewhere.
    best_epochs : list of int
        Per block, from 0: the epoch that was kept.
    final : Validation or None
        Of the kept students; None without images to validate on.
    """

    times: Times
    history: History
    students: list[State] | None
    best_epochs: list[int]
    final: Validation | None


@dataclass
class EpochReport:
    """An epoch as it is told.

    Attributes
    ----------
    epoch : int
        From 0.
    losses : (B,) float64 array
        Mean over its training steps; of a baseline only that of `block` is not 0.
    validation : Validation or None
        None for baselines, and without images to validate on.
    block : int or None
        For baselines, the one that was trained.
    """

    epoch: int
    losses: Losses
    validation: Validation | None = None
    block: int | None = None


class _Watch:
    """The hooks of a real training."""

    def __init__(self, job: Job, head: nn.Module, keep_best: bool, tell: Tell) -> None:
        self._job, self._head, self._tell = job, head, tell
        self.program = cast(TrainingProgram, job.program)
        self._keep_best = keep_best
        shape = (len(job.epochs), self.program.n_blocks)
        self.history = History(np.zeros(shape), np.zeros(shape), [None] * shape[0])
        self.best = BestStates()
        self.validator: Validator | None = None

    def epoch_end(self, epoch: int, works: Sequence[BlockWork], losses: Losses) -> None:
        """Sum the losses, validate, keep what is best."""
        mine = cast(Sequence[TrainingWork], works)
        self._job.comm.Allreduce(losses, self.history.losses[epoch])
        found = self._validate(epoch, mine)
        if found is not None:
            self.history.validation_losses[epoch] = found.losses
            self.history.accuracies[epoch] = found.accuracy
        kept_by = dict(enumerate(found.losses)) if found is not None and self._keep_best else None
        self.best.offer(epoch, mine, kept_by)
        self._tell(EpochReport(epoch, self.history.losses[epoch], found))

    def _validate(self, epoch: int, works: Sequence[TrainingWork]) -> Validation | None:
        if not self.program.images.n_validation:
            return None
        if self.validator is None:
            schedule = self._job.choice.schedule
            assert schedule is not None
            self.validator = validator(self._job, schedule, works, self._head)
        return self.validator.run(self._job.epochs[epoch][-1].number)

    def task_epoch_end(
        self, epoch: int, works: Sequence[BlockWork], reducer: Reducer, losses: Losses
    ) -> None:
        """Sum the losses, validate one block, keep what is best; counted once per group."""
        mine = cast(Sequence[TrainingWork], works)
        block = mine[-1].index
        self.history.losses[epoch, block] = losses[block]
        found = None
        if self.program.images.n_validation:
            loss = _block_loss(self.program, mine, reducer)
            found = {block: loss}
            self.history.validation_losses[epoch, block] = loss if reducer.rank == 0 else 0.0
        self.best.offer(epoch, mine[-1:], found if self._keep_best else None)
        whole = reducer.sum(torch.from_numpy(losses.copy())).numpy()
        self._tell(EpochReport(epoch, whole, block=block))


Tell = Callable[[EpochReport], None]


def validator(
    job: Job, schedule: Schedule, works: Sequence[TrainingWork], head: nn.Module
) -> Validator:
    """Return what validates these blocks under a schedule. Collective.

    Parameters
    ----------
    job : Job
        Its program is a `TrainingProgram`.
    schedule : Schedule
        That says which blocks a rank has.
    works : sequence of TrainingWork
        This rank's blocks, in order.
    head : nn.Module
        What follows the teacher's last block.

    Returns
    -------
    Validator
        To be freed, on all ranks.
    """
    program = cast(TrainingProgram, job.program)
    return Validator(job.comm, schedule, program, job.transport, job.tally, works, head)


@torch.no_grad()
def _block_loss(program: TrainingProgram, works: Sequence[TrainingWork], reducer: Reducer) -> float:
    """Return the mean loss of the last of `works` over the images to validate on. Collective."""
    rows = range(*batch_shares(program.batch, reducer.size)[reducer.rank])
    batches, student = program.images.validation_batches(rows), works[-1].step.student.eval()
    total = torch.zeros(1, dtype=torch.float64, device=program.device)
    steps = range(batches.steps)
    for x in to_device(lambda step: batches.load(0, step).images, steps, program.device):
        if len(x):
            total += _loss_through(works, student, x, program.images.n_validation)
    student.train()
    return float(reducer.sum(total))


def _loss_through(
    works: Sequence[TrainingWork], student: nn.Module, x: torch.Tensor, n_images: int
) -> torch.Tensor:
    for work in works[:-1]:
        x = work.teacher(x)
    return works[-1].pair.loss(student(x), works[-1].teacher(x), n_images)


def distill(job: Job, head: nn.Module, keep_best: bool, tell: Tell) -> Distilled:
    """Train all students. Collective.

    Parameters
    ----------
    job : Job
        Its program is a `TrainingProgram`.
    head : nn.Module
        What follows the teacher's last block; the same on all ranks.
    keep_best : bool
        The best epoch of every block, and not the last, where there are images to validate on.
    tell : callable
        Told of every epoch, on every rank; for LS each rank tells of its own blocks.

    Returns
    -------
    Distilled
        Its students on rank 0 only.

    Raises
    ------
    InputError : on one rank alone, for a loss that is not finite.
    AgreedError, Stopped : on all ranks, where checkpoints are kept: see `relay_progress`.
    """
    watch = _Watch(job, head, keep_best, tell)
    times = execute(job, watch)
    if job.choice.schedule is None:
        for table in (watch.history.losses, watch.history.validation_losses):
            job.comm.Allreduce(MPI.IN_PLACE, table)
    if not watch.program.images.n_validation:
        watch.history.validation_losses[:] = np.nan
    states = list(_everybodys(job.comm, watch.best.state, watch.program.n_blocks))
    final = _final(job, head, states) if watch.program.images.n_validation else None
    if watch.validator is not None:
        watch.validator.free()
    epochs = [0] * watch.program.n_blocks
    for found in job.comm.allgather(watch.best.epoch):
        for block, epoch in found.items():
            epochs[block] = epoch
    return Distilled(times, watch.history, states if job.comm.rank == 0 else None, epochs, final)


def _everybodys(comm: MPI.Comm, mine: dict[int, State], n_blocks: int) -> Iterator[State]:
    """Yield the state of every block, from the first rank that has it. Collective."""
    has = comm.allgather(sorted(mine))
    for block in range(n_blocks):
        owner = next(rank for rank, blocks in enumerate(has) if block in blocks)
        yield comm.bcast(mine.get(block), root=owner)


def _final(job: Job, head: nn.Module, states: Sequence[State]) -> Validation:
    """Validate the students that were kept, data-parallel. Collective."""
    program = cast(TrainingProgram, job.program)
    schedule = one_group(program.n_blocks, job.comm.size)
    reducer = reducer_of(job.comm, job.transport)
    works = [program.work(block, reducer) for block in range(program.n_blocks)]
    for work, state in zip(works, states, strict=True):
        work.pair.student.load_state_dict(state)
    last = validator(job, schedule, works, head)
    found = last.run(job.epochs[-1][-1].number + 1)
    last.free()
    return found
