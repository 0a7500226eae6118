"""Blocks of which a student goes to sleep on the last rank, after some steps."""

from __future__ import annotations

import time

from mpi4py import MPI
from torch import nn

from hpc.pipebd.blocks import BlockPair

STEPS = 3


class Sleepy(nn.Module):
    """Hands on what it gets, and at some step does not."""

    def __init__(self):
        super().__init__()
        self.left = STEPS

    def forward(self, x):
        self.left -= self.training and MPI.COMM_WORLD.rank == MPI.COMM_WORLD.size - 1
        if not self.left:
            time.sleep(1000)
        return x


def pairs():
    return [
        BlockPair(nn.Conv2d(3, 4, 3), nn.Conv2d(3, 4, 3)),
        BlockPair(nn.Flatten(), nn.Sequential(nn.Flatten(), Sleepy(), nn.Linear(3600, 3600))),
    ]
