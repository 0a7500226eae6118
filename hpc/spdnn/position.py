"""How far a training is: what a checkpoint keeps besides weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

NUMBERS = ("epoch", "batch", "loss", "right", "seconds")
"""What a checkpoint keeps of a position by name."""


@dataclass(frozen=True)
class Epoch:
    """One epoch: mean loss and accuracy (0..1) over its training steps, and on held-out samples.

    `validation_loss` and `validation_accuracy` are None where nothing is held out; `seconds`
    is the slowest rank's wall time of the training steps.
    """

    epoch: int
    loss: float
    accuracy: float
    validation_loss: float | None
    validation_accuracy: float | None
    seconds: float


@dataclass
class Position:
    """A place between two steps.

    Attributes
    ----------
    step : int
        Steps done.
    epoch, batch : int
        Epoch of the next step, from 0, and its batches done.
    loss, right, seconds : float, int, float
        So far in this epoch: sums over the samples, this rank's time.
    history : list of Epoch
        Those before.
    """

    step: int = 0
    epoch: int = 0
    batch: int = 0
    loss: float = 0.0
    right: int = 0
    seconds: float = 0.0
    history: list[Epoch] = field(default_factory=list)

    def add(self, loss: float, right: int) -> None:
        """Count a step with the sums over its samples.

        Parameters
        ----------
        loss : float
            Sum of the losses.
        right : int
            How many were right.
        """
        self.loss, self.right = self.loss + loss, self.right + right
        self.batch, self.step = self.batch + 1, self.step + 1

    def end_epoch(self, epoch: Epoch) -> None:
        """Note an epoch; the next one begins.

        Parameters
        ----------
        epoch : Epoch
            Goes to the end of `history`.
        """
        self.history.append(epoch)
        self.epoch, self.batch = self.epoch + 1, 0
        self.loss, self.right, self.seconds = 0.0, 0, 0.0

    def kept(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return it as numbers by name and arrays by name.

        Returns
        -------
        tuple of two dicts
            NUMBERS by name, and `history`, (epochs, 6) float64, NaN for None.
        """
        history = np.array([astuple(epoch) for epoch in self.history], np.float64)
        return {name: getattr(self, name) for name in NUMBERS}, {"history": history.reshape(-1, 6)}


def position_of(
    step: int, numbers: Mapping[str, Any], arrays: Mapping[str, npt.NDArray[Any]]
) -> Position:
    """Return the position that `Position.kept` describes.

    Parameters
    ----------
    step : int
        Steps done.
    numbers : mapping of str to number
        From `kept`; others among them are ignored.
    arrays : mapping of str to array
        From `kept`.

    Returns
    -------
    Position
        With `step`, which `kept` leaves out.
    """
    history = [_epoch(row) for row in arrays["history"].tolist()]
    return Position(step, **{name: numbers[name] for name in NUMBERS}, history=history)


def _epoch(row: list[float]) -> Epoch:
    number, loss, accuracy, *held_out, seconds = row
    first, second = (None if np.isnan(value) else value for value in held_out)
    return Epoch(int(number), loss, accuracy, first, second, seconds)
