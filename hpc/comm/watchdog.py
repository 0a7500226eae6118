"""Ends a job in which nothing moves any more, after every rank has said where it stands.

Each rank has a thread that looks at its own `Standing` and needs no peer: a stalled job
delivers no messages. Ranks that depend on each other stop moving within moments of each
other, so all have spoken when the first of them ends the job.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator
from time import monotonic

from mpi4py import MPI

from hpc.comm.ending import end_process, outlived
from hpc.comm.standing import Standing
from hpc.io.aside import remove_partials

EXIT_STALLED = 1
"""Exit code of a job that a watchdog has ended."""
LOOKS = 20
"""Looks in the time after which a rank has stalled, and the least and most seconds between two."""
LEAST_S, MOST_S = 0.05, 1.0
LEAST_GRACE_S, MOST_GRACE_S, GRACE_SHARE = 2.0, 15.0, 0.05
"""Between the first rank's words and the end of the job: a share of the time, within bounds."""
ABORT_S = 5.0
"""After so long without an effect of Abort the process ends by itself."""


def grace_s(stall_s: float) -> float:
    """Return the seconds in which ranks speak, one after another, before the job is ended.

    Parameters
    ----------
    stall_s : float
        Seconds without a move after which a rank has stalled.

    Returns
    -------
    float
        GRACE_SHARE of that, within LEAST_GRACE_S and MOST_GRACE_S.
    """
    return min(max(GRACE_SHARE * stall_s, LEAST_GRACE_S), MOST_GRACE_S)


@contextlib.contextmanager
def watched(comm: MPI.Comm, standing: Standing, stall_s: float | None) -> Iterator[None]:
    """Watch over `standing` while the block runs; end the job when it stands still for so long.

    Local.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run; only its rank and size are asked for.
    standing : Standing
        Of this rank, written by the block.
    stall_s : float or None
        Seconds; None: nobody watches.
    """
    if stall_s is None:
        yield
        return
    dog = Watchdog(standing, stall_s, (comm.rank, comm.size, MPI.Get_processor_name()), _end)
    try:
        yield
    finally:
        dog.stop()


class Watchdog:
    """A thread that watches over one rank; it begins with the construction.

    Parameters
    ----------
    standing : Standing
        Of this rank, written by another thread.
    stall_s : float
        Seconds without a move after which the rank has stalled.
    who : (int, int, str)
        Rank, ranks, host.
    end : callable
        Ends the job, with the rank's last words still unread; called in the thread.
    """

    def __init__(
        self, standing: Standing, stall_s: float, who: tuple[int, int, str], end: Callable[[], None]
    ) -> None:
        self._standing, self._stall_s, self._end = standing, stall_s, end
        self._rank, self._size, self._host = who
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Watch no longer."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.is_set():
            moves = self._wait_for_stall()
            if moves is not None and self._speak(moves):
                self._end()
                return

    def _wait_for_stall(self) -> int | None:
        """Wait until the rank has stalled; return its moves so far, or None if it is over.

        Time in which this thread did not run either, as the whole job was suspended, does
        not count.
        """
        look_s = min(max(self._stall_s / LOOKS, LEAST_S), MOST_S)
        moves, still_s, last = self._standing.moves, 0.0, monotonic()
        while still_s < self._stall_s:
            if self._over.wait(look_s):
                return None
            now = monotonic()
            if self._standing.moves != moves or self._standing.resting:
                moves, still_s = self._standing.moves, 0.0
            else:
                still_s += min(now - last, 2 * look_s)
            last = now
        return moves

    def _speak(self, moves: int) -> bool:
        """Say where the rank stands, in its turn; return whether it is still there at the end."""
        grace = grace_s(self._stall_s)
        turn = grace / 2 * self._rank / self._size
        if self._over.wait(turn):
            return False
        text = f"no progress for {self._stall_s:.4g} s; {self._standing.text()}"
        os.write(2, f"[rank {self._rank} on {self._host}] {text}\n".encode())
        if self._over.wait(grace - turn):
            return False
        if self._standing.moves == moves:
            return True
        os.write(2, f"[rank {self._rank} on {self._host}] goes on\n".encode())
        return False


def _end() -> None:
    """End the job: by MPI where this thread may call it, and in any case this process."""
    remove_partials()
    sys.stdout.flush()
    last_resort = threading.Timer(ABORT_S, os._exit, (EXIT_STALLED,))
    last_resort.daemon = True
    last_resort.start()
    together = MPI.COMM_WORLD.size > 1 and not outlived()
    if together and MPI.Query_thread() == MPI.THREAD_MULTIPLE:
        MPI.COMM_WORLD.Abort(EXIT_STALLED)
    end_process(EXIT_STALLED)
