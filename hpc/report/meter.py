"""How far a run is and how fast: readings between two looks. Pure, but for the gauges."""

from __future__ import annotations

from dataclasses import dataclass

from hpc.report.gauges import Gauges

DONE_BEFORE = "done before"
"""The note of steps that an earlier run did: they count, but the work begins only now."""


@dataclass(frozen=True)
class Course:
    """A stretch of work.

    what : its name. total : steps. unit, each : what the rate counts, and how many are in a step:
        ('inputs', 128) gives inputs/s.
    """

    what: str
    total: int
    unit: str = "steps"
    each: float = 1


@dataclass(frozen=True)
class Reading:
    """A look at a run.

    seconds : since it began. rate : in units per second, since the look before. loss : of the
    last step. wait : share of the time since the look before in which this rank waited, in
    [0, 1]. left_s : seconds left at the run's average pace. None: not known.
    """

    course: Course
    step: int
    seconds: float
    rate: float
    loss: float | None
    wait: float | None
    left_s: float | None
    note: str = ""

    @property
    def rate_unit(self) -> str:
        """The rate's unit."""
        return f"{self.course.unit}/s"


class Meter:
    """Counts the steps of a course; `Looks` read it.

    Parameters
    ----------
    course : Course
        The work.
    gauges : Gauges
        That the engine sets.
    now : float
        Seconds, on the clock that all of the meter's calls use.

    Attributes
    ----------
    began : float
        When the work began.
    done, before : int
        Steps done, and those of them that an earlier run did.
    note : str
        The last one.
    """

    def __init__(self, course: Course, gauges: Gauges, now: float) -> None:
        self.course, self.gauges, self.began = course, gauges, now
        self.done = self.before = 0
        self.note = ""

    def advance(self, steps: int, note: str) -> None:
        """Count steps.

        Parameters
        ----------
        steps : int
            So many more.
        note : str
            Said beside them; '' for nothing.
        """
        self.done += steps
        self.note = note

    def restart(self, steps: int, now: float) -> None:
        """Begin only now, with so many steps done before.

        Parameters
        ----------
        steps : int
            That an earlier run did: they count, but not for the pace.
        now : float
            Seconds, when the work begins.
        """
        self.done = self.before = steps
        self.began = now

    @property
    def left(self) -> int:
        """Steps left."""
        return self.course.total - self.done


class Looks:
    """The looks of one reader at a meter.

    Parameters
    ----------
    meter : Meter
        The first look is against its beginning.
    """

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._last = (meter.began, 0, self._waited_s())

    def _waited_s(self) -> float | None:
        read = self._meter.gauges.waited_s
        return None if read is None else read()

    def look(self, now: float) -> Reading:
        """Return what there is to see at `now`, against the look before.

        Parameters
        ----------
        now : float
            Seconds, on the meter's clock.

        Returns
        -------
        Reading
            What has no gauge, and time left as long as no step is done, is None.
        """
        meter, (then, done, waited) = self._meter, self._last
        took, own = max(now - then, 1e-9), meter.done - meter.before
        waits = self._waited_s()
        wait = None
        if waits is not None:
            wait = min(1.0, max(0.0, (waits - (waited or 0.0)) / took))
        self._last = (now, own, waits)
        loss = meter.gauges.loss
        return Reading(
            meter.course,
            meter.done,
            now - meter.began,
            (own - done) * meter.course.each / took,
            None if loss is None else loss(),
            wait,
            (now - meter.began) * meter.left / own if own else None,
            meter.note,
        )
