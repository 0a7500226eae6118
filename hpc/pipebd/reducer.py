"""Sums over the ranks of a group, as the training step sees them: no word about MPI."""

from __future__ import annotations

from typing import Protocol

import torch


class Reducer(Protocol):
    """Sums tensors over the ranks that share a block's batch.

    rank, size : of this rank in the group.
    """

    rank: int
    size: int

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace `tensor`, contiguous, by its sum over the group and return it.

        Every rank of the group gets the same bits.
        """
        ...


class Alone:
    """The reducer of a group of one rank: the sum is the rank's own."""

    rank = 0
    size = 1

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return `tensor` as it is."""
        return tensor
