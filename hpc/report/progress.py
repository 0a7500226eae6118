"""Progress with time left, from one rank, on standard error."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import monotonic

LINE_EVERY_S = 10.0
"""Seconds between plain lines where standard error is not a terminal."""


@contextlib.contextmanager
def progress(what: str, total: int, show: bool = True) -> Iterator[Callable[[int, str], None]]:
    """Yield ``advance(steps, note)``.

    On a terminal a bar; elsewhere a plain line every ten seconds, so that logs stay
    readable. show : False on all ranks but one, and for --quiet.
    """
    if not show or total <= 0:
        yield lambda steps, note: None
    elif sys.stderr.isatty():
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[note]}"),
        )
        with Progress(*columns, console=Console(stderr=True)) as bar:
            task = bar.add_task(what, total=total, note="")
            yield lambda steps, note: bar.update(task, advance=steps, note=note)
    else:
        yield _Lines(what, total).advance


class _Lines:
    def __init__(self, what: str, total: int) -> None:
        self._what, self._total, self._done = what, total, 0
        self._began = self._last = monotonic()

    def advance(self, steps: int, note: str) -> None:
        self._done += steps
        now = monotonic()
        if now - self._last >= LINE_EVERY_S:
            self._last = now
            left = (now - self._began) * (self._total - self._done) / max(self._done, 1)
            print(
                f"{self._what}: {self._done}/{self._total}, {left:.0f} s left {note}".rstrip(),
                file=sys.stderr,
                flush=True,
            )
