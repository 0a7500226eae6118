"""The losses of a rank's blocks over an epoch, kept where they are computed; none may be lost."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from hpc.io.errors import InputError
from hpc.pipebd.work import BlockWork, Round

LOOK_EVERY = 16
"""Rounds between two looks at the losses on a GPU: each look waits for the device."""


class LossLog:
    """Losses by block and round of one epoch.

    Parameters
    ----------
    works : sequence of BlockWork
        The rank's blocks.
    rounds : sequence of Round
        Of the epoch.
    device : torch.device
        Where the losses are kept.
    rank : int
        For messages.

    Attributes
    ----------
    rounds : sequence of Round
        Of the epoch.
    done : int
        How many of them have been seen.
    """

    def __init__(
        self, works: Sequence[BlockWork], rounds: Sequence[Round], device: torch.device, rank: int
    ) -> None:
        self._works, self.rounds, self._rank = works, rounds, rank
        self._values = torch.zeros(len(rounds), len(works), dtype=torch.float64, device=device)
        self._every = 1 if device.type == "cpu" else LOOK_EVERY
        self._seen = self.done = 0

    def put(self, place: int, work: int, loss: torch.Tensor) -> None:
        """Keep a loss. It stays on the device.

        Parameters
        ----------
        place : int
            Number of the round in the epoch, from 0.
        work : int
            Number of the block among the rank's, from 0.
        loss : scalar tensor
            The rank's part of it.
        """
        self._values[place, work] = loss

    def look(self, done: int) -> None:
        """Check, now and then, the losses of the first `done` rounds.

        Parameters
        ----------
        done : int
            Rounds of the epoch that are done.

        Raises
        ------
        InputError : one that is not finite; names block, step and rank.
        """
        self.done = done
        if done - self._seen < self._every and done < len(self.rounds):
            return
        fresh = self._values[self._seen : done]
        bad = (~torch.isfinite(fresh)).nonzero()
        if len(bad):
            place, work = bad[0].tolist()
            self._stop(self._seen + place, work)
        self._seen = done

    def so_far(self) -> npt.NDArray[np.float64]:
        """Return the losses of the rounds that are done. It waits for a GPU.

        Returns
        -------
        (done, works) float64 array
            The rank's parts.
        """
        found: npt.NDArray[np.float64] = self._values[: self.done].cpu().numpy()
        return found

    def latest(self) -> float | None:
        """Return the rank's part of the last round's loss, the mean over its blocks.

        It waits for a GPU.

        Returns
        -------
        float or None
            None before the first round, and without blocks.
        """
        if not self.done or not self._works:
            return None
        return float(self._values[self.done - 1].mean())

    def restore(self, losses: npt.NDArray[np.float64]) -> None:
        """Take the losses of rounds that were done before.

        Parameters
        ----------
        losses : (done, works) float64 array
            From `so_far`.
        """
        self._seen = self.done = len(losses)
        self._values[: self.done] = torch.from_numpy(losses).to(self._values)

    def _stop(self, place: int, work: int) -> None:
        turn, block = self.rounds[place], self._works[work]
        kind = "architecture round after step" if turn.architecture else "step"
        raise InputError(
            f"the loss of block {block.index} ({block.name}) is "
            f"{float(self._values[place, work])} in {kind} {turn.step} of epoch {turn.epoch + 1} "
            f"on rank {self._rank}: lower the learning rate (--lr), or look for numbers that "
            "are not finite in the teacher"
        )

    def means(self, n_blocks: int) -> npt.NDArray[np.float64]:
        """Return the rank's part of each block's mean loss over training steps.

        Parameters
        ----------
        n_blocks : int
            B.

        Returns
        -------
        (B,) float64 array
            0 for blocks of other ranks; architecture rounds are left out.
        """
        training = [place for place, turn in enumerate(self.rounds) if not turn.architecture]
        found = np.zeros(n_blocks)
        if training:
            own = self._values[training].mean(0).cpu().numpy()
            found[[work.index for work in self._works]] = own
        return found
