"""The line that says how far a run is: on a terminal it moves, in a log there is one now and then.

One rank has it, on standard error.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

from hpc.report.durations import duration
from hpc.report.figures import quantity
from hpc.report.meter import Reading
from hpc.report.terminal import Terminal, told_terminal

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

LINE_EVERY_S = 10.0
"""Seconds between plain lines where standard error is not a terminal."""
VERBOSE_EVERY_S = 1.0
"""The same for --verbose."""
MOVE_EVERY_S = 0.2
"""Seconds between two changes of the line on a terminal."""


class Line(Protocol):
    """Shows readings. every_s : seconds between two. ends : it shows the end of the work."""

    every_s: float
    ends: bool

    def show(self, reading: Reading) -> None:
        """Show a reading.

        Parameters
        ----------
        reading : Reading
            Of the meter.
        """
        ...


@contextlib.contextmanager
def line(what: str, total: int, verbose: bool = False) -> Iterator[Line]:
    """Open the line of a stretch of work.

    Parameters
    ----------
    what : str
        Its name.
    total : int
        Its steps.
    verbose : bool
        Whether plain lines come every VERBOSE_EVERY_S.

    Yields
    ------
    Line
        A bar where standard error comes to a terminal, else what prints plain lines.
    """
    told = None if sys.stderr.isatty() else told_terminal(os.environ)
    if not sys.stderr.isatty() and told is None:
        yield Plain(VERBOSE_EVERY_S if verbose else LINE_EVERY_S)
        return
    with _bar(told) as bar:
        yield Moving(bar, what, total)


class Plain:
    """Prints a line for each reading; the end of the work has lines of its own.

    Parameters
    ----------
    every_s : float
        Seconds between two lines.
    """

    ends = False

    def __init__(self, every_s: float = LINE_EVERY_S) -> None:
        self.every_s = every_s

    def show(self, reading: Reading) -> None:
        """Print it.

        Parameters
        ----------
        reading : Reading
            Of the meter.
        """
        print(plain_text(reading), file=sys.stderr, flush=True)


class Moving:
    """Moves a bar.

    Parameters
    ----------
    bar : rich.progress.Progress
        Open; gets a task of its own.
    what : str
        Name of the work.
    total : int
        Its steps.
    """

    every_s, ends = MOVE_EVERY_S, True

    def __init__(self, bar: Bar, what: str, total: int) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total, told="")

    def show(self, reading: Reading) -> None:
        """Move the bar to where the run is.

        Parameters
        ----------
        reading : Reading
            Of the meter.
        """
        told = ", ".join(told_of(reading))
        self._bar.update(self._task, completed=reading.step, told=told)


def plain_text(reading: Reading) -> str:
    """Return 'train: 40/100 (40 %), 1.2 kinputs/s, loss 0.123, 12 % waiting, 34 s left'.

    Parameters
    ----------
    reading : Reading
        Of a course of one step or more.

    Returns
    -------
    str
        One line; what is not known is left out.
    """
    total = reading.course.total
    left = [] if reading.left_s is None else [f"{duration(reading.left_s)} left"]
    share = f"{100 * reading.step // total} %"
    parts = [f"{reading.step}/{total} ({share})", *told_of(reading), *left]
    return f"{reading.course.what}: {', '.join(parts)}"


def told_of(reading: Reading) -> list[str]:
    """Return what a line says besides how far a run is and how long it takes.

    Parameters
    ----------
    reading : Reading
        Of the meter.

    Returns
    -------
    list of str
        Rate, and as far as they are known loss, waiting and note.
    """
    told = [quantity(reading.rate, reading.rate_unit)]
    if reading.loss is not None:
        told.append(f"loss {reading.loss:.4g}")
    if reading.wait is not None:
        told.append(f"{100 * reading.wait:.0f} % waiting")
    return [*told, *([reading.note] if reading.note else [])]


def _bar(told: Terminal | None) -> Bar:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as Left

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[told]}"),
        Left(compact=True),
        TextColumn("left"),
    )
    both = sys.stdout.isatty() if told is None else told.both
    return Progress(*columns, console=_console(told), redirect_stdout=both)


def _console(told: Terminal | None) -> Console:
    from rich.console import Console

    class Beyond(Console):
        """On a terminal beyond a pipe, whose cursor stays: a rank that is killed cannot show it."""

        def show_cursor(self, show: bool = True) -> bool:
            return False

    if told is None:
        return Console(stderr=True)
    return Beyond(stderr=True, force_terminal=True, width=told.columns)
