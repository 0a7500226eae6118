"""Distillation losses on a share of the batch: the shares' losses add up to the whole batch's.

Each divides by the size of the *whole* batch, so that summing losses and gradients
over the ranks of a group gives the mean over the batch, also where shares are uneven.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional

Loss = Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]
"""(student's output, teacher's output, samples in the whole batch) -> scalar."""


def mean_squared_error(
    output: torch.Tensor, target: torch.Tensor, total_batch: int
) -> torch.Tensor:
    """Return the squared error summed over the share over the elements of the whole batch.

    Parameters
    ----------
    output, target : (n_share, ...) tensor
        Of student and teacher.
    total_batch : int
        Samples in the whole batch.

    Returns
    -------
    scalar tensor
        The share's part of the mean.
    """
    elements = total_batch * target[0].numel()
    return functional.mse_loss(output, target, reduction="sum") / elements


def soft_cross_entropy(
    output: torch.Tensor, target: torch.Tensor, total_batch: int
) -> torch.Tensor:
    """Return the cross-entropy of the student's logits against softmax(teacher's logits).

    Parameters
    ----------
    output, target : (n_share, classes) tensor
        Logits of student and teacher.
    total_batch : int
        Samples in the whole batch.

    Returns
    -------
    scalar tensor
        The share's part of the mean.
    """
    wanted = functional.softmax(target, dim=1)
    return functional.cross_entropy(output, wanted, reduction="sum") / total_batch


def label_cross_entropy(
    output: torch.Tensor, labels: torch.Tensor, total_batch: int, smoothing: float = 0.0
) -> torch.Tensor:
    """Return the cross-entropy against true labels, for teachers, fine-tuning and retraining.

    Parameters
    ----------
    output : (n_share, classes) tensor
        Logits.
    labels : (n_share,) int64 tensor
        0..classes-1.
    total_batch : int
        Samples in the whole batch.
    smoothing : float
        Share of the weight spread evenly over all classes, in [0, 1].

    Returns
    -------
    scalar tensor
        The share's part of the mean.
    """
    summed = functional.cross_entropy(output, labels, reduction="sum", label_smoothing=smoothing)
    return summed / total_batch
