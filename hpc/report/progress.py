"""Work that is watched: its line on standard error, its log and its scalars. One rank does it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from time import monotonic
from typing import Protocol

from hpc.report.gauges import Gauges
from hpc.report.meter import DONE_BEFORE, Course, Looks, Meter, Reading
from hpc.report.progress_line import line

Advance = Callable[[int, str], None]
SOONEST_S, LATEST_S, SHARE = 0.1, 10.0, 1e-3
"""A log has a reading after a thousandth of the time that a course has taken so far, but not
more often and not less often than so: a short run has many, a long one no more than it needs."""


class Sink(Protocol):
    """Takes readings: a log, scalars."""

    def read(self, reading: Reading) -> None:
        """Take one.

        Parameters
        ----------
        reading : Reading
            Of the meter.
        """
        ...


def log_every(seconds: float) -> float:
    """Return how long a log waits for its next reading. Pure.

    Parameters
    ----------
    seconds : float
        That the course has taken so far.

    Returns
    -------
    float
        Seconds, SOONEST_S to LATEST_S.
    """
    return min(LATEST_S, max(SOONEST_S, SHARE * seconds))


class _Reader:
    """Looks at a meter as often as it is due."""

    def __init__(
        self,
        meter: Meter,
        show: Callable[[Reading], None],
        every: Callable[[float], float],
        ends: bool,
    ) -> None:
        self._meter, self._show, self._every, self.ends = meter, show, every, ends
        self._shown = -1
        self.restart()

    def restart(self) -> None:
        self._looks = Looks(self._meter)
        self.due = self._meter.began + self._every(0.0)

    def look(self, now: float) -> None:
        if self._meter.done == self._shown:
            return
        self._shown = self._meter.done
        self._show(self._looks.look(now))
        self.due = now + self._every(now - self._meter.began)


class Watch:
    """Counts steps and shows them to all readers that are due; a step costs two additions.

    Parameters
    ----------
    course : Course
        The work; begins now.
    gauges : Gauges
        That the engine sets.
    """

    def __init__(self, course: Course, gauges: Gauges) -> None:
        self._meter = Meter(course, gauges, monotonic())
        self._readers: list[_Reader] = []
        self._due = 0.0

    def add(
        self, show: Callable[[Reading], None], every: Callable[[float], float], ends: bool = True
    ) -> None:
        """Add a reader; there must be one before the first step.

        Parameters
        ----------
        show : callable
            Takes a `Reading`.
        every : callable
            From the seconds since the start to those from one reading to the next.
        ends : bool
            Whether it is also shown the end.
        """
        self._readers.append(_Reader(self._meter, show, every, ends))
        self._due = min(reader.due for reader in self._readers)

    def advance(self, steps: int, note: str = "") -> None:
        """Say that so many steps more are done.

        Parameters
        ----------
        steps : int
            So many more.
        note : str
            Said beside them; DONE_BEFORE for those that an earlier run did: the work begins then.
        """
        now = monotonic()
        if note == DONE_BEFORE:
            self._meter.restart(steps, now)
            for reader in self._readers:
                reader.restart()
            self._due = min(reader.due for reader in self._readers)
            return
        self._meter.advance(steps, note)
        if now < self._due:
            return
        for reader in self._readers:
            if now >= reader.due:
                reader.look(now)
        self._due = min(reader.due for reader in self._readers)

    def finish(self) -> None:
        """Show the end to all readers that are shown it."""
        now = monotonic()
        for reader in self._readers:
            if reader.ends:
                reader.look(now)


@contextlib.contextmanager
def watching(
    what: str,
    total: int,
    unit: str = "steps",
    each: float = 1,
    *,
    gauges: Gauges | None = None,
    show: bool = True,
    verbose: bool = False,
    sinks: Sequence[Sink] = (),
) -> Iterator[Advance]:
    """Watch a stretch of work.

    Parameters
    ----------
    what : str
        Its name.
    total : int
        Its steps; with 0 nothing is shown or logged.
    unit, each : str, float
        See `Course`.
    gauges : Gauges or None
        That the engine sets when it begins.
    show : bool
        Whether there is a line on standard error.
    verbose : bool
        Whether it comes more often where standard error is no terminal.
    sinks : sequence of Sink
        That get readings as well.

    Yields
    ------
    callable
        ``advance(steps, note)``: so many steps more are done.
    """
    if total <= 0 or not (show or sinks):
        yield lambda steps, note: None
        return
    with contextlib.ExitStack() as stack:
        watch = Watch(Course(what, total, unit, each), gauges or Gauges())
        if show:
            shown = stack.enter_context(line(what, total, verbose))
            watch.add(shown.show, lambda seconds: shown.every_s, shown.ends)
        for sink in sinks:
            watch.add(sink.read, log_every)
        yield watch.advance
        watch.finish()


@contextlib.contextmanager
def progress(what: str, total: int, show: bool = True) -> Iterator[Advance]:
    """Watch work that has a line and no more.

    Parameters
    ----------
    what : str
        Its name.
    total : int
        Its steps; with 0 nothing is shown or logged.
    show : bool
        Whether there is a line on standard error.

    Yields
    ------
    callable
        ``advance(steps, note)``: so many steps more are done.
    """
    with watching(what, total, show=show) as advance:
        yield advance
