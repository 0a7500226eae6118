"""A plain nn.Sequential cut into three blocks, each with a smaller student of the same output."""

from pathlib import Path

import torch
from torch import nn

from hpc.pipebd.blocks import BlockPair

WEIGHTS = Path("my_teacher.pt")


def my_network() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4),  # block 0
        nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(4),  # block 1
        nn.Flatten(), nn.Linear(256, 10),  # block 2
    )  # fmt: skip


def pairs() -> list[BlockPair]:
    teacher = my_network()
    if WEIGHTS.exists():  # torch.save(model.state_dict(), "my_teacher.pt")
        teacher.load_state_dict(torch.load(WEIGHTS, weights_only=True))
    students = [
        nn.Sequential(nn.Conv2d(3, 32, 3, 4, padding=1), nn.ReLU()),
        nn.Sequential(nn.Conv2d(32, 64, 3, 4, padding=1, groups=32), nn.ReLU()),
        nn.Sequential(nn.Flatten(), nn.Linear(256, 10)),
    ]
    blocks = [teacher[0:3], teacher[3:6], teacher[6:8]]
    return [BlockPair(t, s) for t, s in zip(blocks, students, strict=True)]
