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

    Attributes
    ----------
    number : int
        Counted from the start of the run over both kinds, from 0.
    epoch, step : int
        Of the training step; an architecture round has those of the step it follows.
    progress : float
        Share of the run's training steps done before, in [0, 1).
    architecture : bool
        It trains the architecture, on a held-out batch, and not the weights.
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

    Attributes
    ----------
    index : int
        Of the block, 0..B-1.
    name : str
        For messages.
    """

    index: int
    name: str

    def teacher(self, x: torch.Tensor) -> torch.Tensor:
        """Return the teacher's output on a share. Paper: Algorithm 1, line 10.

        It is sent as it lies: neither it nor its memory may be written to while a reference
        to the tensor exists.

        Parameters
        ----------
        x : (n_share, ...) tensor
            Output of the teacher block before, or images; not written to.

        Returns
        -------
        (n_share, ...) tensor
            Contiguous, in memory that is not `x`'s.
        """
        ...

    def begin(self, turn: Round) -> None:
        """Prepare the student's part of a round.

        Parameters
        ----------
        turn : Round
            The same on all ranks of the group.
        """
        ...

    def student(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Do forward, loss and backward. Paper: Algorithm 1, lines 12-13.

        The parts of all shares add up to the loss of the whole batch.

        Parameters
        ----------
        x : (n_share, ...) tensor
            What the teacher had.
        target : (n_share, ...) tensor
            What the teacher gave.

        Returns
        -------
        scalar tensor
            The share's part of the loss, detached.
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
