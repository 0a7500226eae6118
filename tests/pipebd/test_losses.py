"""Distillation losses: shares add up to torch's loss on the whole batch."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hpc.pipebd.losses import label_cross_entropy, mean_squared_error, soft_cross_entropy

SHARES = [slice(0, 3), slice(3, 4), slice(4, 7)]


def summed(loss, output, target):
    output = output.clone().requires_grad_()
    total = sum(loss(output[share], target[share], 7) for share in SHARES)
    total.backward()
    return total.detach(), output.grad


def whole(loss, output):
    output = output.clone().requires_grad_()
    value = loss(output)
    value.backward()
    return value.detach(), output.grad


@pytest.fixture
def tensors():
    torch.manual_seed(0)
    return torch.randn(2, 7, 5, 3, 3, dtype=torch.float64)


def test_mean_squared_error(tensors):
    output, target = tensors
    expected = whole(lambda y: nn.MSELoss()(y, target), output)
    torch.testing.assert_close(summed(mean_squared_error, output, target), expected)


def test_soft_cross_entropy(tensors):
    output, target = tensors[..., 0, 0]
    wanted = target.exp() / target.exp().sum(1, keepdim=True)
    expected = whole(lambda y: -(wanted * torch.log_softmax(y, 1)).sum(1).mean(), output)
    torch.testing.assert_close(summed(soft_cross_entropy, output, target), expected)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_label_cross_entropy(tensors, smoothing):
    output, labels = tensors[0][..., 0, 0], torch.arange(7) % 5

    def smoothed(logits, target, total):
        return label_cross_entropy(logits, target, total, smoothing)

    expected = whole(lambda y: nn.CrossEntropyLoss(label_smoothing=smoothing)(y, labels), output)
    torch.testing.assert_close(summed(smoothed, output, labels), expected)
