"""Loads the next batches in the background while the current ones are computed on."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


def prefetched(
    load: Callable[[Key], Value], keys: Iterable[Key], depth: int = 2
) -> Iterator[Value]:
    """Yield load(key) of every key, in order, while a thread loads up to `depth` more.

    What `load` raises is raised here, at its place. Closing the iterator, or leaving it to the
    garbage collector, ends the thread.

    Parameters
    ----------
    load : callable
        Called from one background thread only.
    keys : iterable
        In order; `depth` are taken ahead.
    depth : int
        At least 1.

    Yields
    ------
    Value
        One a key.
    """
    pending: deque[Future[Value]] = deque()
    with ThreadPoolExecutor(1, "prefetch") as pool:
        try:
            for key in keys:
                pending.append(pool.submit(load, key))
                if len(pending) > depth:
                    yield pending.popleft().result()
            while pending:
                yield pending.popleft().result()
        finally:
            for future in pending:
                future.cancel()
