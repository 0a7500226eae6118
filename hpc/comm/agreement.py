"""What any rank wants, told to all ranks a fixed number of turns later: nobody waits for it.

A turn is a step of a run. Ranks of a pipeline are some turns apart; as the answer of a turn is
taken so many turns later, by then all have sent theirs, and all take it at the same turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

Longs = npt.NDArray[np.int64]
Until = Callable[[Callable[[], bool]], None]
"""Waits until a function says so."""


class Agreement:
    """The largest of all ranks' numbers, turn by turn. Construction and `free` are collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks that agree; a duplicate of it is used.
    width : int
        Numbers a turn.
    delay : int
        Turns, >= 1; at least how far ranks may be apart.
    until : callable
        How to wait.
    """

    def __init__(self, comm: MPI.Comm, width: int, delay: int, until: Until) -> None:
        self.comm, self.delay, self._until = comm.Dup(), delay, until
        self._spare = deque(np.zeros((2, width), np.int64) for _ in range(delay + 1))
        self._under_way: deque[tuple[MPI.Request, Longs]] = deque()

    def turn(self, mine: Sequence[int]) -> Longs | None:
        """Give this turn's numbers; return the largest of `delay` turns ago. Collective.

        Waits for those of that earlier turn, never for this one's.

        Parameters
        ----------
        mine : (width,) sequence of int
            What this rank says; copied.

        Returns
        -------
        (width,) int64 array or None
            The largest that any rank said `delay` turns ago, number by number, the same on all
            ranks; valid until the next turn. None in the first `delay` turns.
        """
        both = self._spare.popleft()
        both[0] = mine
        request = self.comm.Iallreduce(both[0], both[1], MPI.MAX)
        self._under_way.append((request, both))
        if len(self._under_way) <= self.delay:
            return None
        return self._oldest()

    def _oldest(self) -> Longs:
        request, both = self._under_way.popleft()
        self._until(request.Test)
        self._spare.append(both)
        found: Longs = both[1]
        return found

    def free(self) -> None:
        """Wait for what is under way and free the communicator. Collective."""
        while self._under_way:
            self._oldest()
        self.comm.Free()
