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
    works : the blocks. rank : for messages.

    Attributes
    ----------
    rounds : of the epoch. done : how many of them have been seen.
    """

    def __init__(
        self, works: Sequence[BlockWork], rounds: Sequence[Round], device: torch.device, rank: int
    ) -> None:
        self._works, self.rounds, self._rank = works, rounds, rank
        self._values = torch.zeros(len(rounds), len(works), dtype=torch.float64, device=device)
        self._every = 1 if device.type == "cpu" else LOOK_EVERY
        self._seen = self.done = 0

    def put(self, place: int, work: int, loss: torch.Tensor) -> None:
        """Keep the loss of the rank's block number `work` in round number `place` of the epoch."""
        self._values[place, work] = loss

    def look(self, done: int) -> None:
        """Check, now and then, the losses of the first `done` rounds.

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
        """Return the losses of the rounds that are done, (done, works) float64."""
        found: npt.NDArray[np.float64] = self._values[: self.done].cpu().numpy()
        return found

    def latest(self) -> float | None:
        """Return the rank's part of the last round's loss, the mean over its blocks.

        None before the first round, and without blocks. It waits for a GPU.
        """
        if not self.done or not self._works:
            return None
        return float(self._values[self.done - 1].mean())

    def restore(self, losses: npt.NDArray[np.float64]) -> None:
        """Take the losses of rounds that were done before, (done, works) float64."""
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
        """Return the rank's part of each block's mean loss over training steps, (B,) float64."""
        training = [place for place, turn in enumerate(self.rounds) if not turn.architecture]
        found = np.zeros(n_blocks)
        if training:
            own = self._values[training].mean(0).cpu().numpy()
            found[[work.index for work in self._works]] = own
        return found
