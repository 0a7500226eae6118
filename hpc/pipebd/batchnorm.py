"""Batch norm over a group: the batch statistics are those of the whole batch, not of a share.

So that weights do not depend on how a schedule splits the batch. Forward makes one
reduction per layer and backward one; forward and backward must therefore run in the
same order on all ranks of a group, which equal graphs do.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.autograd.function import once_differentiable

from hpc.pipebd.reducer import Reducer


class GroupBatchNorm(nn.modules.batchnorm._BatchNorm):
    """nn.BatchNorm1d/2d whose training statistics are over the batch of the whole group.

    Takes over parameters and buffers of the layer that it replaces; the state dict's keys
    stay. Equal to that layer on the whole batch, running statistics included.

    Parameters
    ----------
    layer : nn.BatchNorm1d or nn.BatchNorm2d
        Gives its weight, bias and buffers, which are not copied.
    reducer : Reducer
        Over the ranks that share the batch.
    """

    def __init__(self, layer: nn.Module, reducer: Reducer) -> None:
        nn.Module.__init__(self)
        self.num_features, self.eps = layer.num_features, layer.eps
        self.momentum, self.affine = layer.momentum, layer.affine
        self.track_running_stats = layer.track_running_stats
        self.weight, self.bias = layer.weight, layer.bias
        for name in ("running_mean", "running_var", "num_batches_tracked"):
            self.register_buffer(name, getattr(layer, name))
        self.training = layer.training
        self.reducer = reducer

    def _check_input_dim(self, x: torch.Tensor) -> None:
        if x.dim() < 2:
            raise ValueError(f"expected at least 2 dimensions, got {x.dim()}")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Normalise a share by the statistics of the whole batch. Collective in training.

        Parameters
        ----------
        x : (n_share, channels, ...) tensor
            Of one sample at least; n_share may differ from rank to rank.

        Returns
        -------
        (n_share, channels, ...) tensor
            Its backward pass is collective as well.

        Raises
        ------
        ValueError : fewer than two axes.
        """
        if self.reducer.size == 1 or not (self.training or self.running_mean is None):
            return super().forward(x)
        self._check_input_dim(x)
        count, mean, variance = group_moments(x.detach(), self.reducer)
        if self.training and self.track_running_stats:
            self._track(count, mean, variance)
        return _Normalise.apply(
            x, self.weight, self.bias, mean, variance, count, self.eps, self.reducer
        )

    @torch.no_grad()
    def _track(self, count: torch.Tensor, mean: torch.Tensor, variance: torch.Tensor) -> None:
        self.num_batches_tracked += 1
        momentum = self.momentum
        if momentum is None:
            momentum = 1.0 / float(self.num_batches_tracked)
        unbiased = variance * (count / (count - 1))
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), momentum)
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), momentum)


def group_moments(
    x: torch.Tensor, reducer: Reducer
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return count, mean and biased variance per channel over the shares of all ranks. Collective.

    Every rank puts its own moments in its row of a table of zeros; the sum over the group
    is the table of all, without rounding, and each rank combines its rows in rank order.
    That is as stable as two passes, takes one reduction and gives all ranks the same bits.

    Parameters
    ----------
    x : (n_share, channels, ...) tensor
        This rank's share, of one sample at least.
    reducer : Reducer
        Over the ranks that share the batch.

    Returns
    -------
    count : scalar float64 tensor
        Values per channel; a tensor, as reading it would stall a GPU.
    mean, variance : (channels,) float64 tensor
        The same bits on all ranks.
    """
    axes = [0, *range(2, x.dim())]
    share_variance, share_mean = torch.var_mean(x, dim=axes, correction=0)
    table = x.new_zeros((reducer.size, 2 * x.shape[1] + 1), dtype=torch.float64)
    row = table[reducer.rank]
    row[0] = x.numel() // x.shape[1]
    row[1:].view(2, -1)[0] = share_mean
    row[1:].view(2, -1)[1] = share_variance
    reducer.sum(table)
    counts = table[:, :1]
    means, variances = table[:, 1:].reshape(reducer.size, 2, -1).unbind(1)
    count = counts.sum()
    mean = (counts * means).sum(0) / count
    variance = (counts * (variances + (means - mean) ** 2)).sum(0) / count
    return count, mean, variance


class _Normalise(torch.autograd.Function):
    """y = (x − mean) / sqrt(variance + eps) · weight + bias, where the moments depend on x.

    The gradient of weight and bias is the share's part; the step sums it over the group.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: torch.Tensor,
        weight: torch.Tensor | None,
        bias: torch.Tensor | None,
        mean: torch.Tensor,
        variance: torch.Tensor,
        count: torch.Tensor,
        eps: float,
        reducer: Reducer,
    ) -> torch.Tensor:
        mean, invstd = mean.to(x.dtype), torch.rsqrt(variance + eps).to(x.dtype)
        ctx.save_for_backward(x, weight, mean, invstd)
        ctx.count, ctx.reducer = count, reducer
        y = (x - _across(mean, x)) * _across(invstd, x)
        if weight is None:
            return y
        return y.mul_(_across(weight, x)).add_(_across(bias, x))

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        x, weight, mean, invstd = ctx.saved_tensors
        axes = [0, *range(2, x.dim())]
        normal = (x - _across(mean, x)) * _across(invstd, x)
        sums = torch.stack([grad.sum(axes), (grad * normal).sum(axes)])
        grad_bias, grad_weight = sums.clone() if weight is not None else (None, None)
        of_mean, of_spread = ctx.reducer.sum(sums.double()) / ctx.count
        scale = invstd if weight is None else invstd * weight
        grad_x = grad - _across(of_mean.to(x.dtype), x) - normal * _across(of_spread.to(x.dtype), x)
        return grad_x.mul_(_across(scale, x)), grad_weight, grad_bias, *(None,) * 5


def _across(per_channel: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return a view of (channels,) that broadcasts over (n, channels, ...)."""
    return per_channel.view(1, -1, *(1,) * (x.dim() - 2))


def convert_batchnorm(module: nn.Module, reducer: Reducer) -> nn.Module:
    """Replace every nn.BatchNorm1d/2d in `module` by a GroupBatchNorm on the same parameters.

    A layer that is a GroupBatchNorm already gets `reducer`.

    Parameters
    ----------
    module : nn.Module
        Changed in place.
    reducer : Reducer
        Over the ranks that share the batch.

    Returns
    -------
    nn.Module
        `module`, or its replacement where it is a batch norm itself.
    """
    if isinstance(module, GroupBatchNorm):
        module.reducer = reducer
    elif isinstance(module, nn.BatchNorm1d | nn.BatchNorm2d):
        return GroupBatchNorm(module, reducer)
    for name, child in module.named_children():
        setattr(module, name, convert_batchnorm(child, reducer))
    return module
