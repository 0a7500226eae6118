"""Sums over the ranks of a group, as the training step sees them: no word about MPI."""

from __future__ import annotations

from time import perf_counter
from typing import Protocol

import torch


class Reducer(Protocol):
    """Sums tensors over the ranks that share a block's batch.

    Attributes
    ----------
    rank, size : int
        Of this rank in the group.
    """

    rank: int
    size: int

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace `tensor` by its sum over the group and return it. Collective over the group.

        Every rank of the group gets the same bits.

        Parameters
        ----------
        tensor : torch.Tensor
            Contiguous, of the same shape and dtype on all ranks of the group.

        Returns
        -------
        torch.Tensor
            The same tensor.
        """
        ...


class Timed:
    """A reducer that knows how long its sums took, the wait for other ranks included.

    Parameters
    ----------
    reducer : Reducer
        That sums.

    Attributes
    ----------
    rank, size : int
        The reducer's.
    seconds : float
        So far.
    """

    def __init__(self, reducer: Reducer) -> None:
        self.rank, self.size, self.seconds = reducer.rank, reducer.size, 0.0
        self._reducer = reducer

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Sum as the reducer does.

        Parameters
        ----------
        tensor : torch.Tensor
            See `Reducer.sum`.

        Returns
        -------
        torch.Tensor
            The same tensor.
        """
        began = perf_counter()
        found = self._reducer.sum(tensor)
        self.seconds += perf_counter() - began
        return found


class Alone:
    """The reducer of a group of one rank: the sum is the rank's own."""

    rank = 0
    size = 1

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Return `tensor` as it is.

        Parameters
        ----------
        tensor : torch.Tensor
            Of any shape.

        Returns
        -------
        torch.Tensor
            The same tensor.
        """
        return tensor
