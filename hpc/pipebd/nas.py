"""Architecture search on a supernet block: sampled paths, architecture rounds, the result.

Paper: Pipe-BD, its workload "Neural Architecture Search"; to the schedule an
architecture round is one more training step.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import numpy as np
import torch

from hpc.io.aside import written_aside
from hpc.io.errors import FormatError, InputError
from hpc.pipebd.blocks import BlockPair
from hpc.pipebd.models.mobilenetv2 import cells_of
from hpc.pipebd.models.proxyless import CELLS, NAMES, SupernetBlock, allowed_in
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.option_values import Shape
from hpc.pipebd.reducer import Reducer
from hpc.pipebd.rng import Draw, numpy_generator
from hpc.pipebd.step import FlatGradient, StudentStep

Architecture = tuple[tuple[str, ...], ...]
"""Per block the name of every cell's candidate."""


@dataclass(frozen=True)
class ArchitectureSettings:
    """How the architecture parameters are trained (Adam), and when.

    Attributes
    ----------
    lr, betas : float, (float, float)
        Of Adam.
    first : float
        Share of the epochs before the first round, in [0, 1].
    every : int
        Steps from round to round, at least 1.
    flops_weight : float
        Weight in the loss of the expected multiply-adds over the most expensive path's; 0 leaves
        them out.
    """

    lr: float = 1e-3
    betas: tuple[float, float] = (0.0, 0.999)
    first: float = 0.25
    every: int = 5
    flops_weight: float = 0.0

    def due(self, epoch: int, step: int, epochs: int) -> bool:
        """Return whether an architecture round follows a training step.

        Parameters
        ----------
        epoch, step : int
            Of the training step, from 0; steps are counted anew in every epoch.
        epochs : int
            Of the run.

        Returns
        -------
        bool
            Once in `every` steps, after the first epochs.
        """
        return epoch >= self.first * epochs and (step + 1) % self.every == 0


def sample_path(
    probabilities: Sequence[Sequence[float]], generator: np.random.Generator
) -> tuple[int, ...]:
    """Draw one candidate a cell.

    Parameters
    ----------
    probabilities : (cells, candidates) sequence of sequence of float
        Candidates of probability 0 are never drawn.
    generator : np.random.Generator
        Keyed by the round, so that all ranks draw the same.

    Returns
    -------
    tuple of int
        Per cell the candidate's number, see `NAMES`.
    """
    reached = np.cumsum(np.asarray(probabilities), axis=1)
    drawn = generator.random((len(reached), 1)) * reached[:, -1:]
    return tuple((reached <= drawn).sum(axis=1).tolist())


class SearchStep(StudentStep):
    """The step of a supernet block: weight rounds and architecture rounds, phase by phase.

    After `begin` the phases train the weights on a sampled path, after `begin_architecture` the
    architecture parameters; `gradients` and `update` follow.

    Parameters
    ----------
    pair, block_index, settings, reducer, total_batch, seed
        As `StudentStep`'s; the student is a `SupernetBlock`.
    architecture : ArchitectureSettings
        Of architecture rounds.

    Raises
    ------
    InputError : as `StudentStep`.
    """

    def __init__(
        self,
        pair: BlockPair,
        block_index: int,
        settings: SgdSettings,
        reducer: Reducer,
        total_batch: int,
        seed: int = 0,
        architecture: ArchitectureSettings = ArchitectureSettings(),
    ) -> None:
        super().__init__(pair, block_index, settings, reducer, total_batch, seed)
        self.architecture = architecture
        self._weight_gradient = self.gradient
        self._alpha_gradient = FlatGradient([self.student.alpha], f"block {block_index}")
        self._adam = torch.optim.Adam(
            [self.student.alpha], lr=architecture.lr, betas=architecture.betas
        )

    def _trained_weights(self) -> list[torch.nn.Parameter]:
        return [p for name, p in self.student.named_parameters() if name != "alpha"]

    def begin(self, epoch: int, step: int, progress: float = 0.0) -> None:
        """Prepare a weight round: draw the path, of which alone the weights will change.

        Parameters
        ----------
        epoch, step : int
            From 0: the key of the path, with seed and block.
        progress : float
            Share of the run's training steps that are done, in [0, 1).
        """
        self._draw_path(Draw.PATH, epoch, step)
        self.student.searching, self.gradient = False, self._weight_gradient
        self.weights = self.student.path_parameters()
        super().begin(epoch, step, progress)

    def begin_architecture(self, epoch: int, step: int) -> None:
        """Prepare an architecture round, on a batch that is held out from the weights.

        Parameters
        ----------
        epoch, step : int
            Of the training step that it follows: the key of its path, which is not the step's.
        """
        self._draw_path(Draw.ARCHITECTURE_PATH, epoch, step)
        self.student.searching, self.gradient = True, self._alpha_gradient
        self.gradient.attach([self.student.alpha])

    def _draw_path(self, draw: Draw, epoch: int, step: int) -> None:
        generator = numpy_generator(draw, self.seed, epoch, step, self.block_index)
        self.student.path = sample_path(self.student.host_probabilities(), generator)

    def loss(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the share's part of the loss, in an architecture round with that of the cost.

        Parameters
        ----------
        output, target : (n_share, ...) tensor
            Of student and teacher.

        Returns
        -------
        scalar tensor
            Divided by the whole batch; the parts of all shares add up to the whole.
        """
        loss = super().loss(output, target)
        if not self.student.searching or not self.architecture.flops_weight:
            return loss
        cost = self.architecture.flops_weight * expected_cost(self.student)
        return loss + cost * (len(output) / self.total_batch)

    def backward(self, loss: torch.Tensor) -> None:
        """Compute the share's part of the gradient, of weights or of architecture.

        Parameters
        ----------
        loss : scalar tensor
            From `loss`.
        """
        if self.student.searching:
            torch.autograd.backward(loss, inputs=[self.student.alpha])
        elif self.weights:  # a path of nothing but Zero has none
            super().backward(loss)

    def update(self) -> None:
        """Change weights or architecture by the gradient of the whole batch."""
        if self.student.searching:
            self._adam.step()
        else:
            super().update()

    def run_architecture(
        self, x: torch.Tensor, target: torch.Tensor, epoch: int, step: int
    ) -> torch.Tensor:
        """Do one whole architecture round on a share. Collective over the group.

        Parameters
        ----------
        x : (n_share, ...) tensor
            This rank's share of a batch that is held out from the weights.
        target : (n_share, ...) tensor
            The teacher's output on it.
        epoch, step : int
            As `begin_architecture`'s.

        Returns
        -------
        scalar tensor
            The share's part of the loss, detached.
        """
        self.begin_architecture(epoch, step)
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
            That of `StudentStep`, and the state of Adam.
        """
        return {**super().state_dict(), "architecture_optimizer": self._adam.state_dict()}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from `state`.

        Parameters
        ----------
        state : dict of str to Any
            From `state_dict` of a step of the same block.
        """
        super().load_state_dict(state)
        self._adam.load_state_dict(state["architecture_optimizer"])


def expected_cost(block: SupernetBlock) -> torch.Tensor:
    """Return the expected multiply-adds of a block over those of its most expensive path.

    Parameters
    ----------
    block : SupernetBlock
        Its probabilities weigh the candidates.

    Returns
    -------
    scalar tensor
        In [0, 1], differentiable by alpha. Source: ProxylessNAS's expected latency, here of
        multiply-adds.
    """
    probabilities = block.probabilities()
    flops = block.flops.to(probabilities)
    return (probabilities * flops).sum() / flops.amax(1).sum()


def derive(students: Sequence[SupernetBlock]) -> Architecture:
    """Return the most probable candidate of every cell of every block.

    Parameters
    ----------
    students : sequence of SupernetBlock
        Of all blocks, in order.

    Returns
    -------
    tuple of tuple of str
        Per block the names of its cells' candidates.
    """
    return tuple(tuple(NAMES[kind] for kind in block.best_path()) for block in students)


def write_architecture(path: str | os.PathLike[str], found: Architecture) -> None:
    """Write an architecture as JSON: a list of candidates' names per block.

    Parameters
    ----------
    path : path-like
        File to write, aside and renamed.
    found : tuple of tuple of str
        From `derive`.

    Raises
    ------
    InputError : the file cannot be written.
    """
    with written_aside(path) as partial:
        partial.write_text(json.dumps({"blocks": found}, indent=1) + "\n", encoding="utf-8")


def read_architecture(path: str | os.PathLike[str], shape: Shape, width: float) -> Architecture:
    """Read an architecture and check that it fits the supernet of these sizes.

    Parameters
    ----------
    path : path-like
        From `write_architecture`.
    shape : str
        'cifar' or 'imagenet'.
    width : float
        Factor on all channels, which decides where a cell may take Zero.

    Returns
    -------
    tuple of tuple of str
        Per block the names of its cells' candidates.

    Raises
    ------
    FormatError : missing or not of this kind.
    InputError : other counts of blocks or cells, a candidate that the cell does not have.
    """
    try:
        with open(path, encoding="utf-8") as file:
            blocks = json.load(file)["blocks"]
        counts = tuple(map(len, blocks))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"{path}: not an architecture file ({error})") from error
    if counts != CELLS:
        raise InputError(f"{path}: blocks of {counts} cells, expected {CELLS}")
    for index, names in enumerate(blocks):
        cells = cells_of(index, CELLS[index], shape, width)
        for place, (name, cell) in enumerate(zip(names, cells, strict=True)):
            valid = list(compress(NAMES, allowed_in(cell)))
            if name not in valid:
                where = f"{path}: block {index} cell {place}"
                raise InputError(f"{where}: {name!r}, expected {', '.join(valid)}")
    return tuple(map(tuple, blocks))
