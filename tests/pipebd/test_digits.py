"""Real digits end to end: a teacher is trained, compressed block by block, and fine-tuned."""

from __future__ import annotations

from itertools import pairwise

import torch
from mpi4py import MPI
from torch import nn

from datasets import digits
from hpc.comm.buffers import Transport
from hpc.io.images import open_images
from hpc.pipebd.blocks import BlockPair, check_pairs, freeze
from hpc.pipebd.compress import assemble, conv_weights
from hpc.pipebd.distillation import distill
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.nas import ArchitectureSettings
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.program import Boundary
from hpc.pipebd.recipe import whole_teacher
from hpc.pipebd.rounds import run_rounds
from hpc.pipebd.supervised import shared_accuracy, train_on_labels
from hpc.pipebd.training_data import split_images
from hpc.pipebd.training_program import TrainingProgram
from tests.pipebd.small_runs import job_of

CHANNELS = (3, 16, 32, 64, 64, 64)
BATCH, SEED = 32, 2
TEACHER_EPOCHS, DISTILL_EPOCHS, TUNE_EPOCHS = 8, 4, 10
CPU = torch.device("cpu")


def vgg_block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, 3, padding=1), nn.BatchNorm2d(c_out), nn.ReLU(), nn.MaxPool2d(2)
    )


def separable_block(c_in, c_out):
    return nn.Sequential(
        nn.Conv2d(c_in, c_in, 3, padding=1, groups=c_in, bias=False),
        nn.Conv2d(c_in, c_out, 1, bias=False),
        nn.BatchNorm2d(c_out),
        nn.ReLU(),
        nn.MaxPool2d(2),
    )


def small_vgg():
    """Five convolutions, each followed by pooling: 32 pixels a side become one."""
    torch.manual_seed(SEED)
    pairs = [
        BlockPair(vgg_block(*sizes), separable_block(*sizes), name=f"block{index}")
        for index, sizes in enumerate(pairwise(CHANNELS))
    ]
    return pairs, nn.Sequential(nn.Flatten(), nn.Linear(CHANNELS[-1], 10))


def compressed(comm, images, pairs, head, epochs):
    """Return the assembled student and what the run said of it."""
    shapes = check_pairs(pairs, torch.zeros(2, 3, 32, 32))
    boundaries = [Boundary((3, 32, 32), torch.float32)]
    boundaries += [Boundary(tuple(shape[1:]), torch.float32) for shape in shapes]
    program = TrainingProgram(
        pairs, boundaries, images, run_rounds(epochs, images.steps), SgdSettings(0.1, 0.9),
        ArchitectureSettings(), CPU, SEED,
    )  # fmt: skip
    found = distill(job_of(comm, program, "tr+dpu"), head, True, lambda report: None)
    states = comm.bcast(found.students)
    for pair, state in zip(pairs, states, strict=True):
        pair.student.load_state_dict(state)
    return assemble([pair.student for pair in pairs], head), found


def test_a_fifth_of_the_weights_names_digits_as_well(tmp_path):
    """Within a point of the teacher's accuracy on the test digits."""
    comm = MPI.COMM_SELF
    digits.main(["--out", str(tmp_path / "x.h5")])
    pairs, head = small_vgg()
    teacher = whole_teacher([pair.teacher for pair in pairs], head)
    with open_images(tmp_path / "x.h5") as file:
        images = split_images(file, BATCH, SEED, torch.float32)
        sgd = SgdSettings(0.05, 0.9, True, 5e-4, "cosine")
        train_on_labels(comm, Transport(), teacher, images, TEACHER_EPOCHS, sgd, CPU)
        for module in [*(pair.teacher for pair in pairs), head]:
            freeze(module)
        student, found = compressed(comm, images, pairs, head, DISTILL_EPOCHS)
        tuning = SgdSettings(0.05, 0.9, schedule="cosine")
        train_on_labels(comm, Transport(), student, images, TUNE_EPOCHS, tuning, CPU)
        accuracy = shared_accuracy(reducer_of(comm, Transport()), student, images, CPU)
    assert conv_weights(student) <= conv_weights(teacher) / 5
    assert found.final.teacher_accuracy >= 0.95
    assert accuracy >= found.final.teacher_accuracy - 0.01
