"""Where a rank stands in a run: written at the seams of the run, read by a watchdog's thread."""

from __future__ import annotations

from collections.abc import Callable, Iterable

Awaited = str | Callable[[], Iterable[int]] | None
"""For whom a rank waits: in words, or a function that returns ranks; None: for nobody."""


class Standing:
    """What a rank is at. Saying so costs a few assignments.

    Parameters
    ----------
    unit : str
        What `done` counts: step, input.
    part : str
        What a place is a number of: layer, block.

    Attributes
    ----------
    moves : grows with every move; what stands still is this number.
    done : of the units.
    base : number of the first rank that `Awaited` functions call 0.
    resting : nothing is expected of this rank: it has no work, or none left.
    """

    def __init__(self, unit: str = "step", part: str = "layer") -> None:
        self._unit, self._part = unit, part
        self.moves = self.done = self.base = 0
        self.resting = False
        self._what, self._place = "the beginning", -1
        self._awaited: Awaited = None

    def at(self, what: str, place: int = -1, awaited: Awaited = None) -> None:
        """Say what comes now.

        Parameters
        ----------
        what : str
            In a word or two: 'forward'.
        place : int
            0-based number of the layer or block; -1 without one.
        awaited : str or callable or None
            For whom the rank waits, see `Awaited`; called by another thread.
        """
        self._what, self._place, self._awaited = what, place, awaited
        self.moves += 1

    def count(self, units: int) -> None:
        """Say that so many more units are done.

        Parameters
        ----------
        units : int
            Added to `done`.
        """
        self.done += units
        self.moves += 1

    def rest(self) -> None:
        """Say that nothing more is expected of this rank."""
        self.resting = True

    def text(self) -> str:
        """Return where the rank stands.

        Returns
        -------
        str
            'after step 12: forward of layer 3, waiting for rank 0'.
        """
        where = f" of {self._part} {self._place + 1}" if self._place >= 0 else ""
        after = f"after {self._unit} {self.done}: "
        return f"{after}{self._what}{where}, {self._awaited_text(self._awaited)}"

    def _awaited_text(self, awaited: Awaited) -> str:
        if isinstance(awaited, str):
            return f"waiting for {awaited}"
        ranks = sorted({self.base + rank for rank in awaited()}) if awaited else []
        if not ranks:
            return "at work, waiting for nobody"
        return f"waiting for rank{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"
