"""What is to run, apart from how it is cut: real training, or an emulation of it.

The runtime asks a program for the blocks and the inputs of its rank, whatever the schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import torch

from hpc.pipebd.reducer import Reducer
from hpc.pipebd.work import BlockWork, Round


@dataclass(frozen=True)
class Boundary:
    """What is relayed of one sample.

    Attributes
    ----------
    shape : tuple of int
        Without the samples' axis.
    dtype : torch.dtype
        Of its numbers.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype


class Feed(Protocol):
    """A rank's share of the inputs of block 0."""

    def inputs(self, rounds: Iterable[Round]) -> Iterator[torch.Tensor]:
        """Yield the share of each round's batch, in order.

        Parameters
        ----------
        rounds : iterable of Round
            In the order of the run.

        Yields
        ------
        (n_share, ...) tensor
            On the program's device; may be used until the next is asked for.
        """
        ...


class Program(Protocol):
    """Blocks and inputs, equal on all ranks.

    Attributes
    ----------
    n_blocks : int
        B.
    batch : int
        Samples of a step.
    device : torch.device
        Where this rank's blocks run.
    """

    @property
    def n_blocks(self) -> int: ...  # noqa: D102

    @property
    def batch(self) -> int: ...  # noqa: D102

    @property
    def device(self) -> torch.device: ...  # noqa: D102

    def work(self, block: int, reducer: Reducer) -> BlockWork:
        """Return a block, whose batch is shared by the ranks of `reducer`; built on each call.

        Parameters
        ----------
        block : int
            0..B-1.
        reducer : Reducer
            Over the ranks of the group.

        Returns
        -------
        BlockWork
            With a student of its own.
        """
        ...

    def feed(self, rows: range) -> Feed:
        """Return the inputs of block 0 for rows `rows` of every batch.

        Parameters
        ----------
        rows : range
            Of 0..batch-1: this rank's share.

        Returns
        -------
        Feed
            Of these rows alone.
        """
        ...

    def boundary(self, block: int) -> Boundary:
        """Return what the input of `block` is.

        Parameters
        ----------
        block : int
            0..B-1.

        Returns
        -------
        Boundary
            Of one sample.
        """
        ...
