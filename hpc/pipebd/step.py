"""One block's training step on a share of the batch, apart from who runs it and when.

Paper: Pipe-BD, Algorithm 1, lines 12-15. The runtimes call the phases (`begin`,
`forward`, `loss`, `backward`, reduce, `update`) one by one and put what they like
between them; `run` does them in a row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn

from hpc.io.errors import InputError
from hpc.pipebd.batchnorm import convert_batchnorm
from hpc.pipebd.blocks import BlockPair
from hpc.pipebd.optimizer import SgdSettings, set_lr
from hpc.pipebd.reducer import Reducer

BUCKET_BYTES = 1 << 22
"""Largest piece of the gradient that is reduced at once."""


class FlatGradient:
    """The gradients of many parameters, one after another in one buffer that is reduced as it lies.

    Parameters
    ----------
    parameters : sequence of nn.Parameter
        All that may ever be trained, at least one, of one dtype, on one device.
    where : str
        Begins the message.

    Raises
    ------
    InputError : no parameters; of several dtypes or devices.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], where: str) -> None:
        self._parameters = parameters
        if not parameters:
            raise InputError(f"{where}: the student has no parameter to train")
        if len({(p.dtype, p.device) for p in parameters}) > 1:
            raise InputError(f"{where}: the student's parameters differ in dtype or device")
        self._flat = torch.zeros(
            sum(p.numel() for p in parameters),
            dtype=parameters[0].dtype,
            device=parameters[0].device,
        )
        self._used = 0

    def attach(self, active: Iterable[nn.Parameter]) -> None:
        """Set the gradients of `active` to zero, in the buffer, and those of all others to None.

        Parameters
        ----------
        active : iterable of nn.Parameter
            Some of the parameters; autograd then adds up in the buffer.
        """
        for parameter in self._parameters:
            parameter.grad = None
        self._used = 0
        for parameter in active:
            end = self._used + parameter.numel()
            parameter.grad = self._flat[self._used : end].view_as(parameter)
            self._used = end
        self._flat[: self._used].zero_()

    def buckets(self, bucket_bytes: int) -> list[torch.Tensor]:
        """Return the active gradients as contiguous views of at most `bucket_bytes` each.

        Parameters
        ----------
        bucket_bytes : int
            Below the size of a number, each is a bucket of its own.

        Returns
        -------
        list of (n,) tensor
            In order; empty where nothing is active.
        """
        used = self._flat[: self._used]
        return list(used.split(max(1, bucket_bytes // used.element_size()))) if self._used else []


class StudentStep:
    """Trains the student of one block; every rank of a group holds one and sees its own share.

    Parameters
    ----------
    pair : BlockPair
        The block; its student's batch norms become group batch norms.
    block_index : int
        Part of the key of its random draws, from 0.
    settings : SgdSettings
        Of the optimizer.
    reducer : Reducer
        Sums over the ranks of the group.
    total_batch : int
        Samples in the whole batch, over all shares.
    seed : int
        The run's, >= 0.

    Raises
    ------
    InputError : a student without parameters to train, or with some of several dtypes or devices.
    """

    def __init__(
        self,
        pair: BlockPair,
        block_index: int,
        settings: SgdSettings,
        reducer: Reducer,
        total_batch: int,
        seed: int = 0,
    ) -> None:
        pair.student = convert_batchnorm(pair.student, reducer).train()
        self.pair, self.block_index, self.seed = pair, block_index, seed
        self.settings, self.reducer, self.total_batch = settings, reducer, total_batch
        self.weights = self._trained_weights()
        self.gradient = FlatGradient(self.weights, f"block {block_index} ({pair.name})")
        self.optimizer = settings.build(self.weights)

    @property
    def student(self) -> nn.Module:
        """The student block."""
        return self.pair.student

    def _trained_weights(self) -> list[nn.Parameter]:
        return [p for p in self.student.parameters() if p.requires_grad]

    def begin(self, epoch: int, step: int, progress: float = 0.0) -> None:
        """Prepare a training step: set the rate, clear the gradient.

        Parameters
        ----------
        epoch, step : int
            From 0; the key of random draws, which only supernets make.
        progress : float
            Share of the run's training steps that are done, in [0, 1).
        """
        set_lr(self.optimizer, self.settings.lr_at(progress))
        self.gradient.attach(self.weights)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the student's output on a share; collective with group batch norms.

        Parameters
        ----------
        x : (n_share, ...) tensor
            This rank's share of the batch, as the teacher block takes it.

        Returns
        -------
        (n_share, ...) tensor
            With autograd's graph.
        """
        return self.student(x)

    def loss(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the share's part of the whole batch's loss.

        Parameters
        ----------
        output, target : (n_share, ...) tensor
            Of student and teacher.

        Returns
        -------
        scalar tensor
            Divided by the whole batch; the sum over the group is its mean loss.
        """
        return self.pair.loss(output, target, self.total_batch)

    def backward(self, loss: torch.Tensor) -> None:
        """Compute the share's part of the gradient; collective with group batch norms.

        Parameters
        ----------
        loss : scalar tensor
            From `loss`.
        """
        loss.backward()

    def gradients(self, bucket_bytes: int = BUCKET_BYTES) -> list[torch.Tensor]:
        """Return this step's gradient as flat, contiguous buckets, to be summed in place.

        Parameters
        ----------
        bucket_bytes : int
            The most that one has.

        Returns
        -------
        list of (n,) tensor
            Views of the gradient, in the same order on every rank.
        """
        return self.gradient.buckets(bucket_bytes)

    def reduce(self) -> None:
        """Sum the gradient over the group. Collective. Paper: Algorithm 1, line 14."""
        for bucket in self.gradients():
            self.reducer.sum(bucket)

    def update(self) -> None:
        """Change the weights by the gradient of the whole batch. Paper: Algorithm 1, line 15."""
        self.optimizer.step()

    def run(
        self,
        x: torch.Tensor,
        target: torch.Tensor,
        epoch: int = 0,
        step: int = 0,
        progress: float = 0.0,
    ) -> torch.Tensor:
        """Do one whole step on a share. Collective over the group.

        Parameters
        ----------
        x : (n_share, ...) tensor
            This rank's share of the batch.
        target : (n_share, ...) tensor
            The teacher's output on it.
        epoch, step, progress : int, int, float
            As `begin`'s.

        Returns
        -------
        scalar tensor
            The share's part of the loss, detached.
        """
        self.begin(epoch, step, progress)
        loss = self.loss(self.forward(x), target)
        self.backward(loss)
        self.reduce()
        self.update()
        return loss.detach()

    def state_dict(self) -> dict[str, Any]:
        """Return what a checkpoint of this block needs.

        Returns
        -------
        dict of str to Any
            Of student and optimizer, as torch has them: their tensors are no copies.
        """
        return {"student": self.student.state_dict(), "optimizer": self.optimizer.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state`.

        Parameters
        ----------
        state : dict of str to Any
            From `state_dict` of a step of the same block.
        """
        self.student.load_state_dict(state["student"])
        self.optimizer.load_state_dict(state["optimizer"])
