"""What is asked of checkpoints: where, how often, how many. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

DEFAULT_KEEP = 3


@dataclass(frozen=True)
class Every:
    """How often: so many seconds, or so many steps; the other is None."""

    seconds: float | None = None
    steps: int | None = None

    def due(self, last: tuple[int, float], now: tuple[int, float]) -> bool:
        """Return whether one is due at `now` when the last was at `last`, each (step, seconds).

        Parameters
        ----------
        last : step and seconds of the last one.
        now : step and seconds.

        Returns
        -------
        Whether so many of either lie between.
        """
        if self.steps is not None:
            return now[0] // self.steps > last[0] // self.steps
        assert self.seconds is not None
        return now[1] - last[1] >= self.seconds


@dataclass(frozen=True)
class CheckpointOptions:
    """root : the folder. keep : complete ones. fresh : begin anew, whatever is there.

    after : go on only from those with a larger number.
    """

    root: Path
    every: Every
    keep: int = DEFAULT_KEEP
    fresh: bool = False
    after: int = 0
