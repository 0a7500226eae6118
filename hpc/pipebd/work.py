"""What the runtime asks of a block, phase by phase: real training, or an emulation that sleeps.

Paper: Pipe-BD, Algorithm 1, lines 10-15.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True)
class Round:
    """One pass of a batch through all blocks: a training step, or an architecture round (NAS).

    number : of the round, counted from the start of the run over both kinds.
    epoch, step : of the training step; an architecture round has those of the step it follows.
    progress : share of the run's training steps done before, in [0, 1).
    architecture : it trains the architecture, on a held-out batch, and not the weights.
    """

    number: int
    epoch: int
    step: int
    progress: float = 0.0
    architecture: bool = False


class BlockWork(Protocol):
    """One block on one rank; the ranks of a group call the phases in the same order.

    The runtime calls in every round: `teacher`, for all blocks of the rank, then block by block
    `begin`, `student`, `reduce`, `update`; with a barrier, the updates of all blocks come last.

    index : of the block, 0..B-1. name : for messages.
    """

    index: int
    name: str

    def teacher(self, x: torch.Tensor) -> torch.Tensor:
        """Return the teacher's output on a share, (n_share, ...), contiguous.

        It is sent as it lies: neither it nor its memory may be written to while a reference
        to the tensor exists.
        """
        ...

    def begin(self, turn: Round) -> None:
        """Prepare the student's part of a round."""
        ...

    def student(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Do forward, loss and backward; return the share's part of the loss, a detached scalar.

        The parts of all shares add up to the loss of the whole batch.
        """
        ...

    def reduce(self) -> None:
        """Sum the gradient over the group; called only where the group has several ranks."""
        ...

    def update(self) -> None:
        """Change the weights, or the architecture, by the gradient of the whole batch."""
        ...

    def kept(self) -> Iterable[torch.Tensor]:
        """Return what stays in memory from round to round: weights, gradients, optimizer's state.

        For the profile, which counts bytes.
        """
        ...
