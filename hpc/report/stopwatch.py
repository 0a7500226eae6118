"""Where a rank's time goes: one clock, read at the seams."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from time import perf_counter


class Stopwatch:
    """Seconds by kind of work. `lap(kind)` books the time since the last lap.

    Attributes
    ----------
    seconds : dict of str to float
        By kind: 'compute', 'pack', 'wait', 'read' ...
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = perf_counter()
        self._all: str | None = None

    def restart(self) -> None:
        """Forget the time since the last lap."""
        self._last = perf_counter()

    def lap(self, kind: str) -> None:
        """Book the time since the last lap as `kind`, inside of `all_as` as what that says.

        Parameters
        ----------
        kind : of work.
        """
        now = perf_counter()
        kind = self._all or kind
        self.seconds[kind] = self.seconds.get(kind, 0.0) + now - self._last
        self._last = now

    @contextlib.contextmanager
    def all_as(self, kind: str) -> Iterator[None]:
        """Book all laps inside as one kind, waiting among them; they begin now.

        Parameters
        ----------
        kind : of all work inside.
        """
        self.restart()
        self._all = kind
        try:
            yield
        finally:
            self._all = None

    def waited_s(self) -> float:
        """Return the seconds booked under 'wait'.

        Returns
        -------
        float
            Seconds; 0 where nothing was.
        """
        return self.seconds.get("wait", 0.0)

    def total(self, *kinds: str) -> float:
        """Return the seconds booked under `kinds`, or under all without any.

        Parameters
        ----------
        *kinds : str
            Of work; all without any.

        Returns
        -------
        float
            Seconds.
        """
        return sum(self.seconds.get(kind, 0.0) for kind in kinds or self.seconds)
