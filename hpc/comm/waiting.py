"""How a rank waits for its peers: with the least delay, or leaving its core to them."""

from __future__ import annotations

import os
from collections.abc import Callable
from time import sleep
from typing import Any, Protocol

from mpi4py import MPI

from hpc.comm.rank_order_sum import rank_order_sum

NAP_S = 2e-4
"""Seconds that a rank sleeps before it looks again."""
LOOKS = 10
"""Looks in a row: a large message takes several before it has moved as far as it can."""
ONE_MESSAGE_BYTES = 1 << 24
"""Up to this size ranks that sleep send each other everything: waiting twice takes them longer."""


class Waiting(Protocol):
    """Waits for what a function says, and in collectives."""

    def until(self, done: Callable[[], bool]) -> None:
        """Wait for what a function says.

        Parameters
        ----------
        done : callable
            Called again and again until it returns True; it moves messages.
        """
        ...

    def all_reduce(self, comm: MPI.Comm, message: Any) -> None:
        """Sum `message` over `comm`, in place. Collective.

        Parameters
        ----------
        comm : MPI.Comm
            Of the ranks that sum.
        message : array or tensor
            Contiguous, of the same shape and dtype on all ranks.
        """
        ...


class Yielding:
    """Looks again at once, after letting other processes of its core run."""

    def until(self, done: Callable[[], bool]) -> None:
        """Return when `done()`.

        Parameters
        ----------
        done : callable
            Called again and again, without a pause.
        """
        while not done():
            os.sched_yield()

    def all_reduce(self, comm: MPI.Comm, message: Any) -> None:
        """Sum `message` over `comm`, in place; in rank order, on a device in MPI's. Collective.

        Parameters
        ----------
        comm : MPI.Comm
            Of the ranks that sum.
        message : array or tensor
            See `rank_order_sum`.
        """
        rank_order_sum(comm, message, self.until)


class Sleeping:
    """Looks now and then, so that an idle rank takes no core from a busy one.

    For emulations and for more ranks than cores.
    """

    def until(self, done: Callable[[], bool]) -> None:
        """Return when `done()`.

        Parameters
        ----------
        done : callable
            Called up to LOOKS times in a row, then again after NAP_S seconds.
        """
        while not any(done() for _ in range(LOOKS)):
            sleep(NAP_S)

    def all_reduce(self, comm: MPI.Comm, message: Any) -> None:
        """Sum `message` over `comm`, in place; in rank order, on a device in MPI's. Collective.

        Parameters
        ----------
        comm : MPI.Comm
            Of the ranks that sum.
        message : array or tensor
            See `rank_order_sum`.
        """
        rank_order_sum(comm, message, self.until, ONE_MESSAGE_BYTES)
