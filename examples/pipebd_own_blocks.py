"""Distill your own blocks, given as modules: `mpirun -n 2 python examples/pipebd_own_blocks.py`.

Profile, search the schedule, train, and compare with a loop of plain torch in one process.
"""

from __future__ import annotations

import copy

import numpy as np
import torch
from mpi4py import MPI
from torch import nn

import hpc.pipebd

EPOCHS, N = 5, 64


def make_blocks() -> list[hpc.pipebd.BlockPair]:
    """Return two blocks, the same on every rank: the students' layers are half as wide."""
    torch.manual_seed(0)

    def block(n_in: int, width: int, n_out: int) -> nn.Module:
        return nn.Sequential(nn.Linear(n_in, width), nn.Tanh(), nn.Linear(width, n_out))

    shapes = [(20, 64, 16), (16, 64, 4)]
    return [hpc.pipebd.BlockPair(block(i, w, o), block(i, w // 2, o)) for i, w, o in shapes]


def serial(x: torch.Tensor) -> nn.Module:
    """Return the students after the same steps, one after another."""
    pairs = make_blocks()
    students = [copy.deepcopy(pair.student).double() for pair in pairs]
    for pair, student in zip(pairs, students, strict=True):
        target = pair.teacher.double()(x)
        optimizer = torch.optim.SGD(student.parameters(), lr=0.1, momentum=0.9)
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            nn.functional.mse_loss(student(x), target).backward()
            optimizer.step()
        x = target
    return nn.Sequential(*students)


comm = MPI.COMM_WORLD
x = np.random.default_rng(0).standard_normal((N, 20))
data = (x, np.arange(N) % 4)
profile = hpc.pipebd.profile(comm, make_blocks(), data, batch=N, steps=5, dtype="float64")
plan = hpc.pipebd.plan(profile, comm.size)
options = hpc.pipebd.TrainingOptions(batch=N, epochs=EPOCHS, lr=0.1)
schedule = str(plan.choice.schedule)
found = hpc.pipebd.train(comm, make_blocks(), data, schedule, options, dtype="float64")
if found.student is not None:  # on rank 0
    samples = torch.from_numpy(x)
    difference = (found.student(samples) - serial(samples)(samples)).abs().max()
    print(f"schedule {schedule}, {found.details.times.steps} steps")
    print(f"largest difference from plain torch: {difference:.1e}")
