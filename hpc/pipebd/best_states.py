"""The best epoch of every block: blocks learn apart, so each may have its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from hpc.pipebd.training_work import TrainingWork


class BestStates:
    """The student of every block of this rank from its best epoch: that of the least loss.

    Attributes
    ----------
    loss : dict of int to float
        By block, NaN where it was kept without one.
    epoch : dict of int to int
        By block, from 0.
    state : dict of int to dict
        By block the student's state dict, in host memory.
    """

    def __init__(self) -> None:
        self.loss: dict[int, float] = {}
        self.epoch: dict[int, int] = {}
        self.state: dict[int, dict[str, torch.Tensor]] = {}

    def offer(
        self, epoch: int, works: Iterable[TrainingWork], losses: Mapping[int, float] | None
    ) -> None:
        """Keep the students that are better than before; without losses, the latest. Local.

        Parameters
        ----------
        epoch : int
            That they are of, from 0.
        works : iterable of TrainingWork
            The rank's blocks.
        losses : mapping of int to float, or None
            By block; a loss that is not below the best one's changes nothing.
        """
        for work in works:
            block = work.index
            before = self.loss.get(block, math.nan)
            if losses is None or math.isnan(before) or losses[block] < before:
                self.loss[block] = math.nan if losses is None else losses[block]
                self.epoch[block] = epoch
                self.state[block] = host_state(work.pair.student)


def host_state(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of a module's state in host memory.

    Parameters
    ----------
    module : nn.Module
        On any device.

    Returns
    -------
    dict of str to tensor
        Under the keys of its state dict.
    """
    return {key: value.detach().cpu().clone() for key, value in module.state_dict().items()}
