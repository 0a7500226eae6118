"""Blocks that take their time, so that it is known how long a training lasts at least."""

from __future__ import annotations

import time

from torch import nn

from hpc.pipebd.blocks import BlockPair

STEP_S = 0.01


class Paced(nn.Module):
    """Hands on what it gets, not at once."""

    def forward(self, x):
        time.sleep(STEP_S)
        return x


def pairs():
    return [
        BlockPair(nn.Conv2d(3, 4, 3), nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4))),
        BlockPair(
            nn.Sequential(nn.Flatten(), nn.Linear(3600, 10)),
            nn.Sequential(nn.Flatten(), Paced(), nn.Linear(3600, 10)),
        ),
    ]
