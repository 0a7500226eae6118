"""Threads of a rank that share a loop: the compiled loops run without Python's lock."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

from hpc.io.errors import InputError
from hpc.io.ownership import owned_range

LEAST_WORK = 400_000
"""Weights times columns of a thread's piece: below, waking a thread takes longer than the piece."""
Span = tuple[int, int]


class Team:
    """Runs pieces of a loop on `size` threads, this one among them. Makes no MPI calls.

    Pieces depend on the span, the work and the team's size alone, and no two write to the same
    place, so results are the same bits whatever the size.

    Parameters
    ----------
    size : int
        Threads, at least 1.

    Raises
    ------
    InputError : fewer.
    """

    def __init__(self, size: int = 1) -> None:
        if size < 1:
            raise InputError(f"--threads {size}: expected at least 1")
        self.size = size
        self._pool = ThreadPoolExecutor(size - 1) if size > 1 else None

    def run(self, piece: Callable[[int, int], None], span: Span, work: float) -> None:
        """Run piece(first, stop) over a span in parts; return when all are done.

        Parameters
        ----------
        piece : callable
            Releases Python's lock, or nothing is gained.
        span : tuple of int
            (first, stop).
        work : float
            Weights times columns of the whole span; little work goes to fewer threads.
        """
        spans = pieces(span, min(self.size, max(1, int(work / LEAST_WORK))))
        if self._pool is None or len(spans) < 2:
            piece(*span)
            return
        running: list[Future[None]] = [self._pool.submit(piece, *part) for part in spans[1:]]
        piece(*spans[0])
        for future in running:
            future.result()


def pieces(span: Span, parts: int) -> list[Span]:
    """Return the parts of a span: contiguous, as equal as can be, none empty unless it is. Pure.

    Parameters
    ----------
    span : tuple of int
        (first, stop).
    parts : int
        At most so many.

    Returns
    -------
    list of tuples of int
        (first, stop) of each, in order.
    """
    first, stop = span
    parts = max(1, min(parts, stop - first))
    spans = (owned_range(stop - first, parts, part) for part in range(parts))
    return [(first + start, first + end) for start, end in spans]
