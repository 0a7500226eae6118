"""What is asked of checkpoints: where, how often, how many. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hpc.io.arguments import FLAG, NUMBER, PATH, WHOLE, check_arguments, instance, or_none
from hpc.io.errors import InputError

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
    """root : the folder; a name is taken, too. keep : complete ones. fresh : begin anew.

    after : go on only from those with a larger number.
    """

    root: Path
    every: Every
    keep: int = DEFAULT_KEEP
    fresh: bool = False
    after: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.root, str):
            object.__setattr__(self, "root", Path(self.root))

    def check(self) -> None:
        """Check types and ranges.

        Raises
        ------
        InputError : names the argument, what came and what is expected.
        """
        check_arguments(OPTIONS, **vars(self))
        check_arguments(EVERY, **vars(self.every))
        often = [one for one in vars(self.every).values() if one is not None]
        if len(often) != 1 or not often[0] > 0:
            raise InputError(f"every: {self.every}, expected seconds or steps, above 0")
        if self.keep < 1:
            raise InputError(f"keep {self.keep}: expected at least 1")


OPTIONS = {
    "root": PATH,
    "every": instance(Every, said="an Every, such as Every(seconds=600)"),
    "keep": WHOLE,
    "fresh": FLAG,
    "after": WHOLE,
}
EVERY = {"seconds": or_none(NUMBER), "steps": or_none(WHOLE)}
