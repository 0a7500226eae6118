"""The assembled student: the trained blocks and the teacher's head as one network; its accuracy."""

from __future__ import annotations

import copy
from collections.abc import Iterable

import torch
from torch import nn

from hpc.pipebd.data import Batch


def assemble(blocks: Iterable[nn.Module], head: nn.Module) -> nn.Sequential:
    """Return one trainable network of copies of `blocks`, in order, and `head`.

    Batch norms of a group stay what they are; see `batchnorm.convert_batchnorm`.

    Parameters
    ----------
    blocks : iterable of nn.Module
        Trained students.
    head : nn.Module
        What follows the teacher's last block.

    Returns
    -------
    nn.Sequential
        All of its parameters need gradients.
    """
    model = nn.Sequential(*map(copy.deepcopy, [*blocks, head]))
    return model.requires_grad_(True)


@torch.no_grad()
def correct(model: nn.Module, batch: Batch) -> int:
    """Return how many images of a batch `model`, which is put in eval mode, names rightly.

    Parameters
    ----------
    model : nn.Module
        (n, channels, side, side) to (n, classes).
    batch : Batch
        On the model's device.

    Returns
    -------
    int
        0..n.
    """
    logits = model.eval()(batch.images)
    return int((logits.argmax(1) == batch.labels).sum())


def accuracy(model: nn.Module, batches: Iterable[Batch]) -> float:
    """Return the share of images that `model` names rightly.

    Parameters
    ----------
    model : nn.Module
        Left in eval mode.
    batches : iterable of Batch
        At least one image in all.

    Returns
    -------
    float
        In [0, 1].
    """
    right = total = 0
    for batch in batches:
        right += correct(model, batch)
        total += len(batch.labels)
    return right / total


def conv_weights(model: nn.Module) -> int:
    """Return the number of weights of the convolutions in `model`, biases left out.

    Parameters
    ----------
    model : nn.Module
        Of any kind.

    Returns
    -------
    int
        Of weights, not of bytes.
    """
    return sum(
        layer.weight.numel()
        for layer in model.modules()
        if isinstance(layer, nn.modules.conv._ConvNd)
    )
