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
    """What is relayed of one sample. shape : without the samples' axis. dtype : of its numbers."""

    shape: tuple[int, ...]
    dtype: torch.dtype


class Feed(Protocol):
    """A rank's share of the inputs of block 0."""

    def inputs(self, rounds: Iterable[Round]) -> Iterator[torch.Tensor]:
        """Yield the share, (n_share, ...), of each round's batch, in order."""
        ...


class Program(Protocol):
    """Blocks and inputs, equal on all ranks.

    n_blocks : B. batch : samples of a step. device : where the blocks run.
    """

    @property
    def n_blocks(self) -> int: ...  # noqa: D102

    @property
    def batch(self) -> int: ...  # noqa: D102

    @property
    def device(self) -> torch.device: ...  # noqa: D102

    def work(self, block: int, reducer: Reducer) -> BlockWork:
        """Return a block, whose batch is shared by the ranks of `reducer`; built on each call."""
        ...

    def feed(self, rows: range) -> Feed:
        """Return the inputs of block 0 for rows `rows` of every batch."""
        ...

    def boundary(self, block: int) -> Boundary:
        """Return what the input of `block` is."""
        ...
