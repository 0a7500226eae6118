"""What a user may pass as --blocks: good ones, and all that can be wrong with them."""

from __future__ import annotations

import torch
from mpi4py import MPI
from torch import nn

from hpc.pipebd.blocks import BlockPair


def good():
    return [
        BlockPair(nn.Conv2d(3, 4, 3), nn.Conv2d(3, 4, 3)),
        BlockPair(nn.Flatten(), nn.Sequential(nn.Flatten(), nn.Linear(144, 144))),
    ]


def misshapen():
    return [BlockPair(nn.Conv2d(3, 4, 3), nn.Conv2d(3, 5, 3))]


def other_dtype():
    return [BlockPair(nn.Conv2d(3, 4, 3), nn.Sequential(nn.Conv2d(3, 4, 3), Doubled()))]


def shared():
    student = nn.Conv2d(3, 3, 3, padding=1)
    return [BlockPair(nn.Conv2d(3, 3, 3, padding=1), student, name=name) for name in "ab"]


def by_rank():
    return good()[: 1 + (MPI.COMM_WORLD.rank == 0)]


class Doubled(nn.Module):
    """Gives another dtype."""

    def forward(self, x):
        return x.double()


def raising():
    raise RuntimeError("no such teacher")


def nothing():
    return "blocks"


def diverging():
    return [good()[0], BlockPair(nn.Flatten(), nn.Sequential(nn.Flatten(), Explodes()))]


class Explodes(nn.Module):
    """Gives infinities from its fourth training step on."""

    def __init__(self):
        super().__init__()
        self.scale, self.calls = nn.Parameter(torch.ones(())), 0

    def forward(self, x):
        self.calls += self.training
        return x * self.scale * (float("inf") if self.calls > 3 else 1)
