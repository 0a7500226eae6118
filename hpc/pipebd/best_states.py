"""The best epoch of every block: blocks learn apart, so each may have its own."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import torch
from torch import nn

from hpc.pipebd.training_work import TrainingWork


class BestStates:
    """The student of every block of this rank from its best epoch: that of the least loss."""

    def __init__(self) -> None:
        self.loss: dict[int, float] = {}
        self.epoch: dict[int, int] = {}
        self.state: dict[int, dict[str, torch.Tensor]] = {}

    def offer(
        self, epoch: int, works: Iterable[TrainingWork], losses: Mapping[int, float] | None
    ) -> None:
        """Keep the students that are better than before; without losses, the latest.

        losses : by block.
        """
        for work in works:
            block = work.index
            before = self.loss.get(block, math.nan)
            if losses is None or math.isnan(before) or losses[block] < before:
                self.loss[block] = math.nan if losses is None else losses[block]
                self.epoch[block] = epoch
                self.state[block] = host_state(work.pair.student)


def host_state(module: nn.Module) -> dict[str, torch.Tensor]:
    """Return a copy of a module's state in host memory."""
    return {key: value.detach().cpu().clone() for key, value in module.state_dict().items()}
