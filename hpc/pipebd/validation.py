"""Validation through the pipeline: block losses, and the assembled student beside the teacher.

What is relayed is the teacher's and the assembled student's output, side by side.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from mpi4py import MPI
from torch import nn

from hpc.comm.buffers import Transport
from hpc.comm.tags import Tag
from hpc.pipebd.program import Boundary
from hpc.pipebd.recorder import Kind, Recorder
from hpc.pipebd.relay import Inlet, Outlet, neighbours
from hpc.pipebd.schedule import Schedule
from hpc.pipebd.shares import Interval, batch_shares
from hpc.pipebd.training_data import Images, to_device
from hpc.pipebd.training_program import TrainingProgram
from hpc.pipebd.training_work import TrainingWork


@dataclass(frozen=True)
class Validation:
    """What validation found, the same on all ranks.

    Attributes
    ----------
    losses : tuple of float
        Per block, each mean over the images.
    accuracy, teacher_accuracy : float or None
        Of assembled student and teacher, in [0, 1]; None where the last block gives no logits.
    """

    losses: tuple[float, ...]
    accuracy: float | None
    teacher_accuracy: float | None


class Validator:
    """Validates the blocks of a schedule; every rank runs its own on its share of each batch.

    Parameters
    ----------
    comm : MPI.Comm
        As many ranks as the schedule has; construction, `run` and `free` are collective.
    schedule : Schedule
        The same on all ranks.
    program : TrainingProgram
        Gives images and shapes.
    transport : Transport
        Of this rank.
    recorder : Recorder
        Told of each validation as one span.
    works : sequence of TrainingWork
        This rank's blocks.
    head : nn.Module
        What follows the last block, on every rank; moved to the device.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        schedule: Schedule,
        program: TrainingProgram,
        transport: Transport,
        recorder: Recorder,
        works: Sequence[TrainingWork],
        head: nn.Module,
    ) -> None:
        self._comm, self._program, self._transport = comm.Dup(), program, transport
        self._recorder, self._works, self._head = recorder, works, head.to(program.device)
        self._batches = _batches(program.images)
        self._share: Interval = (0, 0)
        self._inlet: Inlet | None = None
        self._outlet: Outlet | None = None
        index = schedule.group_of(comm.rank)
        if index is not None:
            self._connect(schedule, index)

    def _connect(self, schedule: Schedule, index: int) -> None:
        group, program = schedule.groups[index], self._program
        place = self._comm.rank - group.ranks.start
        self._share = batch_shares(program.batch, group.size)[place]
        before, after = neighbours(schedule.groups, index)
        if before is not None:
            single = program.boundary(group.blocks.start)
            both = Boundary((2, *single.shape), single.dtype)
            self._inlet = Inlet(
                self._comm, self._transport, before, group, program.batch, both, 2,
                Tag.VALIDATE, program.device,
            )  # fmt: skip
        if after is not None:
            self._outlet = Outlet(
                self._comm, self._transport, group, after, program.batch, Tag.VALIDATE
            )

    @torch.no_grad()
    def run(self, number: int) -> Validation:
        """Validate the students as they are. Collective.

        Parameters
        ----------
        number : int
            Of the round that comes next, for the record.

        Returns
        -------
        Validation
            The same on all ranks.
        """
        images, n_blocks = self._program.images, self._program.n_blocks
        found = np.zeros(n_blocks + 2)
        if self._works:
            with self._recorder.span(Kind.VALIDATE, number, self._works[0].index):
                found += self._validate_share()
        total = np.empty_like(found)
        self._comm.Allreduce(found, total)
        named = _gives_logits(self._program, self._head)
        right = (total[n_blocks:] / images.n_validation).tolist() if named else (None, None)
        return Validation(tuple(total[:n_blocks].tolist()), *right)

    def _validate_share(self) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """Return this rank's part of the losses and of the numbers of images named rightly."""
        device, n_blocks = self._program.device, self._program.n_blocks
        losses = torch.zeros(n_blocks, dtype=torch.float64, device=device)
        right = torch.zeros(2, dtype=torch.float64, device=device)
        students = [work.step.student.eval() for work in self._works]
        for (start, stop), (taught, learnt) in zip(self._batches, self._inputs(), strict=True):
            for work, student in zip(self._works, students, strict=True):
                taught, learnt, loss = self._block(work, student, taught, learnt)
                losses[work.index] += loss
            if self._outlet is not None:
                self._outlet.send(torch.stack([learnt, taught], 1))
            else:
                right += self._right(learnt, taught, start + self._share[0], stop)
        self._transport.finish()
        for student in students:
            student.train()
        return torch.cat([losses, right]).cpu().numpy()

    def _inputs(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        """Yield teacher's and student's input of this rank's share, batch by batch."""
        if self._inlet is None:
            rows = range(*self._share)
            load = self._program.images.validation_batches(rows).load
            steps = range(len(self._batches))
            for images in to_device(lambda s: load(0, s).images, steps, self._program.device):
                yield images, images
            return
        self._inlet.expect(len(self._batches))
        for start, stop in self._batches:
            learnt, taught = self._inlet.take()[: self._rows(start, stop)].unbind(1)
            yield taught.contiguous(), learnt.contiguous()
            self._inlet.release()

    def _rows(self, start: int, stop: int) -> int:
        """Return how many images of a batch, which may be short, are in the rank's share."""
        return max(0, min(stop - start, self._share[1]) - self._share[0])

    def _block(
        self, work: TrainingWork, student: nn.Module, taught: torch.Tensor, learnt: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Return the outputs of teacher and assembled student, and the block's loss."""
        if not len(taught):
            shape = self._program.boundary(work.index + 1).shape
            return taught.new_empty(0, *shape), learnt.new_empty(0, *shape), taught.new_zeros(())
        target = work.teacher(taught)
        output = student(taught)
        loss = work.pair.loss(output, target, self._program.images.n_validation)
        return target, output if learnt is taught else student(learnt), loss

    def _right(
        self, learnt: torch.Tensor, taught: torch.Tensor, start: int, stop: int
    ) -> torch.Tensor:
        """Return how many images assembled student and teacher name rightly, (2,)."""
        labels = _labels(self._program.images, start, min(stop, start + len(taught)))
        if not len(labels):
            return torch.zeros(2, dtype=torch.float64, device=self._program.device)
        wanted = labels.to(self._program.device)
        outputs = [self._head(x) for x in (learnt, taught)]
        named = [(x.flatten(1).argmax(1) == wanted).sum() for x in outputs]
        return torch.stack(named).double()

    def free(self) -> None:
        """Free the communicator. Collective."""
        self._comm.Free()


def _gives_logits(program: TrainingProgram, head: nn.Module) -> bool:
    n_classes = len(program.images.file.traits.classes)
    ends_in_logits = program.boundary(program.n_blocks).shape == (n_classes,)
    return ends_in_logits or not isinstance(head, nn.Identity)


def _batches(images: Images) -> list[Interval]:
    """Return the images of each batch."""
    n_images = images.n_validation
    starts = range(0, n_images, images.batch)
    return [(start, min(start + images.batch, n_images)) for start in starts]


def _labels(images: Images, start: int, stop: int) -> torch.Tensor:
    """Return the labels of images start..stop-1 of those to validate on."""
    assert images.validation is not None
    split, indices = images.validation
    labels = images.file.labels(split)
    chosen = labels if indices is None else labels[indices]
    return torch.from_numpy(chosen[start:stop].astype(np.int64))
