"""How far a long step has come, on standard error: a bar with time left, or plain lines."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from time import perf_counter

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

LINE_S = 10.0
"""Seconds between two plain lines."""


@contextlib.contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show the progress of `total` steps; yields what to call after each."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _plain(what, total)
        return
    columns = (TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as bar:
        task = bar.add_task(what, total=total)
        yield lambda: bar.advance(task)


def _plain(what: str, total: int) -> Callable[[], None]:
    began = said = perf_counter()
    done = 0

    def step() -> None:
        nonlocal done, said
        done += 1
        now = perf_counter()
        if now - said >= LINE_S and done < total:
            said = now
            left = (now - began) / done * (total - done)
            print(f"{what}: {done} of {total}, {left:.0f} s left", file=sys.stderr, flush=True)

    return step
