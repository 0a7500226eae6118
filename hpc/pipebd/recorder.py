"""What a rank did when: the runtime says it in spans, a recorder keeps it.

A trace recorder keeps every span; `Tally`, which every run has, keeps the sums.
"""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from enum import StrEnum
from time import perf_counter
from typing import Protocol


class Kind(StrEnum):
    """What a span is spent on.

    LOAD and RECEIVE are the wait for the input, SEND the wait for a free place in the queue and
    the posting, BARRIER the wait for all ranks before the updates.
    """

    LOAD = "load"
    RECEIVE = "receive"
    TEACHER = "teacher"
    SEND = "send"
    STUDENT = "student"
    REDUCE = "reduce"
    BARRIER = "barrier"
    UPDATE = "update"
    VALIDATE = "validate"


WAITING = (Kind.RECEIVE, Kind.SEND, Kind.BARRIER)
"""Kinds in which a rank has nothing to do."""


class Recorder(Protocol):
    """Takes the spans of one rank, in the order in which they begin; spans do not nest."""

    def span(self, kind: Kind, step: int, block: int) -> AbstractContextManager[None]:
        """Return a context that lasts as long as the span.

        Parameters
        ----------
        kind : Kind
            What it is spent on.
        step : int
            Round's number, counted from the start of the run, architecture rounds included.
        block : int
            The block; for load, receive and send the one whose input or output it is; for barrier
            and validate the first of the rank.
        """
        ...


class NullRecorder:
    """Keeps nothing."""

    def span(self, kind: Kind, step: int, block: int) -> AbstractContextManager[None]:
        """Return a context that does nothing.

        Parameters
        ----------
        kind, step, block
            As `Recorder`'s.

        Returns
        -------
        context manager
            That yields None.
        """
        return contextlib.nullcontext()


class Tally:
    """Sums the seconds of each kind, and passes every span on.

    Parameters
    ----------
    then : Recorder, optional
        To which spans are passed on.

    Attributes
    ----------
    seconds : defaultdict of Kind to float
        Of this rank, so far.
    """

    def __init__(self, then: Recorder | None = None) -> None:
        self.seconds: defaultdict[Kind, float] = defaultdict(float)
        self._then = then or NullRecorder()

    @contextlib.contextmanager
    def span(self, kind: Kind, step: int, block: int) -> Iterator[None]:
        """Time what runs inside; a span that an exception leaves is not counted.

        Parameters
        ----------
        kind, step, block
            As `Recorder`'s.
        """
        with self._then.span(kind, step, block):
            began = perf_counter()
            yield
            self.seconds[kind] += perf_counter() - began

    def show(self, wrap: Callable[[Recorder], Recorder]) -> None:
        """Show every span to what `wrap` makes of the recorder behind, which passes it on.

        Parameters
        ----------
        wrap : callable
            From a `Recorder` to another.
        """
        self._then = wrap(self._then)

    def waiting_s(self) -> float:
        """Return the seconds in which the rank had nothing to do: those of the kinds in `WAITING`.

        Returns
        -------
        float
            So far.
        """
        return sum(self.seconds[kind] for kind in WAITING)
