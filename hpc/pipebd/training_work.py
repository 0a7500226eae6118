"""A block that is really trained, as the runtime sees it: see `work.BlockWork`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import torch

from hpc.pipebd.blocks import BlockPair
from hpc.pipebd.models.proxyless import SupernetBlock
from hpc.pipebd.nas import ArchitectureSettings, SearchStep
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.reducer import Reducer
from hpc.pipebd.step import StudentStep
from hpc.pipebd.work import Round


class TrainingWork:
    """Teacher and student of one block.

    Parameters
    ----------
    pair : BlockPair
        The block, on the device where it runs; its student is trained in place.
    index : int
        Of the block, from 0.
    settings : SgdSettings
        How its weights are trained.
    architecture : ArchitectureSettings
        How a supernet's architecture is trained; without a use for other students.
    reducer : Reducer
        Over the ranks of the group.
    batch : int
        Samples of a whole batch.
    seed : int
        The run's.
    """

    def __init__(
        self,
        pair: BlockPair,
        index: int,
        settings: SgdSettings,
        architecture: ArchitectureSettings,
        reducer: Reducer,
        batch: int,
        seed: int,
    ) -> None:
        self.pair, self.index, self.name = pair, index, pair.name
        self._settings, self._architecture = settings, architecture
        self._reducer, self._batch, self._seed = reducer, batch, seed

    @cached_property
    def step(self) -> StudentStep:
        """The student's step; made when first used, as baselines run many blocks' teachers only."""
        common = (self.pair, self.index, self._settings, self._reducer, self._batch, self._seed)
        if isinstance(self.pair.student, SupernetBlock):
            return SearchStep(*common, self._architecture)
        return StudentStep(*common)

    @torch.no_grad()
    def teacher(self, x: torch.Tensor) -> torch.Tensor:
        """Return the teacher's output on a share, in memory of its own: the input's is reused.

        Parameters
        ----------
        x : (n_share, ...) tensor
            Not written to.

        Returns
        -------
        (n_share, ...) tensor
            Contiguous, without gradient.
        """
        y = self.pair.teacher(x).contiguous()
        shared = y.untyped_storage().data_ptr() == x.untyped_storage().data_ptr()
        return y.clone() if shared else y

    def begin(self, turn: Round) -> None:
        """Draw the path, for a search; set the rate; clear the gradient.

        Parameters
        ----------
        turn : Round
            The same on all ranks of the group.
        """
        if turn.architecture and isinstance(self.step, SearchStep):
            self.step.begin_architecture(turn.epoch, turn.step)
        else:
            self.step.begin(turn.epoch, turn.step, turn.progress)

    def student(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Do forward, loss and backward on a share; collective with group batch norms.

        Parameters
        ----------
        x, target : (n_share, ...) tensor
            What the teacher had, and what it gave.

        Returns
        -------
        scalar tensor
            The share's part of the loss, detached.
        """
        loss = self.step.loss(self.step.forward(x), target)
        self.step.backward(loss)
        return loss.detach()

    def reduce(self) -> None:
        """Sum the gradient over the group, bucket by bucket."""
        self.step.reduce()

    def update(self) -> None:
        """Change the weights, or the architecture."""
        self.step.update()

    def kept(self) -> Iterator[torch.Tensor]:
        """Yield weights, buffers, gradients and what the optimizer keeps."""
        yield from self.pair.teacher.state_dict().values()
        yield from self.pair.student.state_dict().values()
        for parameter in self.pair.student.parameters():
            yield from filter(lambda grad: grad is not None, [parameter.grad])
        yield from _tensors(self.step.state_dict())


def _tensors(state: Any) -> Iterator[torch.Tensor]:
    """Yield all tensors in nested dicts and lists."""
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, dict | list | tuple):
        for inner in state.values() if isinstance(state, dict) else state:
            yield from _tensors(inner)
