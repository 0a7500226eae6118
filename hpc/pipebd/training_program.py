"""Real training as a program: the blocks of a workload and the images of a file."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch

from hpc.pipebd.blocks import BlockPair
from hpc.pipebd.nas import ArchitectureSettings
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.program import Boundary
from hpc.pipebd.reducer import Reducer
from hpc.pipebd.rounds import Epoch
from hpc.pipebd.training_data import ImageFeed, Images
from hpc.pipebd.training_work import TrainingWork


@dataclass
class TrainingProgram:
    """See `program.Program`.

    Attributes
    ----------
    pairs : sequence of BlockPair
        All blocks, with the weights that students start from; `work` copies them.
    boundaries : sequence of Boundary
        Of the input of every block, and of the last one's output: B+1.
    images : Images
        To train and to validate on.
    epochs : sequence of tuple of Round
        The rounds of the run.
    settings : SgdSettings
        How weights are trained.
    architecture : ArchitectureSettings
        How a search trains its architecture.
    device : torch.device
        Where this rank's blocks run.
    seed : int
        Of all draws.
    """

    pairs: Sequence[BlockPair]
    boundaries: Sequence[Boundary]
    images: Images
    epochs: Sequence[Epoch]
    settings: SgdSettings
    architecture: ArchitectureSettings
    device: torch.device
    seed: int = 0

    def __post_init__(self) -> None:
        # torch's first optimizer imports for a second; that is not to be in the first step.
        self.settings.build([torch.nn.Parameter(torch.zeros(1))])

    @property
    def n_blocks(self) -> int:
        """B."""
        return len(self.pairs)

    @property
    def batch(self) -> int:
        """Samples of a whole batch."""
        return self.images.batch

    def work(self, block: int, reducer: Reducer) -> TrainingWork:
        """Return a block with a student of its own, on the device.

        Parameters
        ----------
        block : int
            0..B-1.
        reducer : Reducer
            Over the ranks of the group.

        Returns
        -------
        TrainingWork
            Its student is a copy; the teacher is the program's, moved to the device.
        """
        pair = self.pairs[block]
        fresh = replace(
            pair,
            teacher=pair.teacher.to(self.device),
            student=copy.deepcopy(pair.student).to(self.device),
        )
        return TrainingWork(
            fresh, block, self.settings, self.architecture, reducer, self.batch, self.seed
        )

    def feed(self, rows: range) -> ImageFeed:
        """Return the images of rows `rows` of every batch.

        Parameters
        ----------
        rows : range
            Of 0..batch-1: this rank's share.

        Returns
        -------
        ImageFeed
            A split that is stored as pixels it holds in memory, whole.
        """
        return ImageFeed(self.images, rows, self.epochs, self.device)

    def boundary(self, block: int) -> Boundary:
        """Return what the input of `block` is; of block B, the last output.

        Parameters
        ----------
        block : int
            0..B.

        Returns
        -------
        Boundary
            Of one sample.
        """
        return self.boundaries[block]
