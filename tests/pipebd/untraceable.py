"""A student whose forward decides in Python on values: no tracer can follow it."""

from __future__ import annotations

from torch import nn

from hpc.pipebd.blocks import BlockPair


class Deciding(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 1)

    def forward(self, x):
        y = self.conv(x)
        return y if float(y.mean()) > 0 else -y


def pairs():
    return [
        BlockPair(nn.Conv2d(3, 4, 3), nn.Conv2d(3, 4, 3)),
        BlockPair(nn.Conv2d(4, 4, 1), Deciding()),
    ]
