"""Sums of fixed arrays over ranks: persistent all-reduces, begun one by one, awaited later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

Floats = npt.NDArray[np.floating]


class PlannedSums:
    """In-place sums that run again and again; all ranks start them in the same order.

    The order in which MPI adds is its own: the same bits on all ranks, and in every run with
    the same library on the same ranks. Over one rank (or none) nothing is sent.

    Parameters
    ----------
    comm : communicator, or None. Creation is collective.
    arrays : contiguous; fixed for good.
    """

    def __init__(self, comm: MPI.Comm | None, arrays: Sequence[Floats]) -> None:
        self._requests: list[MPI.Prequest] | None = None
        if comm is not None and comm.size > 1:
            self._requests = [comm.Allreduce_init(MPI.IN_PLACE, array) for array in arrays]
        self._started: deque[int] = deque()

    def start(self, index: int) -> None:
        """Begin one sum; its array stays untouched until it is done. All ranks, in the same order.

        Parameters
        ----------
        index : int
            Into `arrays`.
        """
        self._started.append(index)
        if self._requests is not None:
            self._requests[index].Start()

    def done(self) -> Iterator[int]:
        """Yield what is complete, in the order of starting, and move the rest on; never waits."""
        while self._started:
            if self._requests is not None and not self._requests[self._started[0]].Test():
                return
            yield self._started.popleft()

    def rest(self) -> Iterator[int]:
        """Yield all that was started, in that order, each once it is complete."""
        while self._started:
            if self._requests is not None:
                self._requests[self._started[0]].Wait()
            yield self._started.popleft()

    def free(self) -> None:
        """Release the requests; nothing may be under way. Local."""
        for request in self._requests or ():
            request.Free()
        self._requests = None
