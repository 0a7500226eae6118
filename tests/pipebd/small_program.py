"""A program of a few small blocks on random images, for what measures or runs programs."""

from __future__ import annotations

import torch
from torch import nn

from hpc.pipebd.blocks import BlockPair
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.program import Boundary
from hpc.pipebd.step import StudentStep

SIDE = 8
CHANNELS = (3, 4, 6, 2)


def pair(block, device="cpu"):
    torch.manual_seed(block)
    c_in, c_out = CHANNELS[block : block + 2]
    teacher = nn.Sequential(nn.Conv2d(c_in, c_out, 3, padding=1), nn.ReLU())
    student = nn.Sequential(nn.Conv2d(c_in, c_out, 1), nn.BatchNorm2d(c_out), nn.ReLU())
    return BlockPair(teacher.to(device), student.to(device))


class SmallWork:
    def __init__(self, block, reducer, batch, device="cpu"):
        self.index, self.name = block, f"small{block}"
        self.step = StudentStep(pair(block, device), block, SgdSettings(0.1, 0.9), reducer, batch)

    @torch.no_grad()
    def teacher(self, x):
        return self.step.pair.teacher(x)

    def begin(self, turn):
        self.step.begin(turn.epoch, turn.step, turn.progress)

    def student(self, x, target):
        loss = self.step.loss(self.step.forward(x), target)
        self.step.backward(loss)
        return loss.detach()

    def reduce(self):
        self.step.reduce()

    def update(self):
        self.step.update()

    def kept(self):
        states = self.step.optimizer.state.values()
        yield from self.step.pair.teacher.state_dict().values()
        yield from self.step.student.state_dict().values()
        yield from (p.grad for p in self.step.weights if p.grad is not None)
        yield from (t for state in states for t in state.values() if isinstance(t, torch.Tensor))


class SmallProgram:
    """Blocks of CHANNELS; `make_work` may be replaced by a test."""

    n_blocks = len(CHANNELS) - 1
    device = torch.device("cpu")

    def __init__(self, batch, make_work=SmallWork):
        self.batch, self._make_work = batch, make_work

    def work(self, block, reducer):
        return self._make_work(block, reducer, self.batch)

    def feed(self, rows):
        return Feed(self.batch, rows)

    def boundary(self, block):
        return Boundary((CHANNELS[block], SIDE, SIDE), torch.float32)


class Feed:
    def __init__(self, batch, rows):
        self.batch, self.rows = batch, rows

    def inputs(self, rounds):
        for turn in rounds:
            torch.manual_seed(1000 + turn.number)
            x = torch.randn(self.batch, CHANNELS[0], SIDE, SIDE)
            yield x[self.rows.start : self.rows.stop]
