"""Signals end a rank at once, also one that waits inside MPI, or ask a run to stop by itself.

Python runs signal handlers between its own instructions, so a rank that waits in an MPI call
for a peer that is gone would never see one. Here the C handler wakes a thread, which ends
the process. The launcher then ends the others.

A run that keeps checkpoints takes the first signal as a request: see `stop_requests`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator

from hpc.comm.ending import end_by_signal

ENDING = (signal.SIGINT, signal.SIGTERM)
ASKING = signal.SIGUSR1
"""Asks a run with checkpoints to stop; all others go on."""
HEADSTART_S = 0.5
"""What the first rank, who writes files, has before the others end and it is killed."""
SAME_S = 1.0
"""Launchers pass a signal on that the ranks have got already: within this time it is the same."""


class StopRequest:
    """Whether this process was asked to stop. number : of the first signal; 0 for none yet."""

    def __init__(self) -> None:
        self.number = 0
        self._at = 0.0

    def take(self, number: int) -> bool:
        """Note a signal; return whether it is one that must be obeyed at once.

        Parameters
        ----------
        number : int
            Of the signal.

        Returns
        -------
        bool
            True for SIGINT and SIGTERM more than SAME_S seconds after the first signal.
        """
        now = time.monotonic()
        if not self.number:
            self.number, self._at = number, now
            return False
        return number in ENDING and now - self._at > SAME_S


class _Reader:
    """Decides what a signal means; `take` runs in the thread that is woken."""

    def __init__(self) -> None:
        self._early = StopRequest()
        self._lock = threading.Lock()
        self._taking: StopRequest | None = None

    def take(self, number: int, first: bool) -> bool:
        """Return whether the process must end now."""
        with self._lock:
            if self._taking is not None:
                return self._taking.take(number)
            if number in ENDING:
                return True
            self._early.take(number)
        if first:
            _say(f"{_name(number)}: a run with --checkpoint will stop, others go on")
        return False

    @contextlib.contextmanager
    def stop_requests(self) -> Iterator[StopRequest]:
        with self._lock:
            outer, self._taking = self._taking, self._early
        try:
            yield self._taking
        finally:
            if outer is None:
                with self._lock:
                    self._taking, self._early = None, StopRequest()


_reader = _Reader()  # signals are the process's, and so is what is done about them


def stop_requests() -> contextlib.AbstractContextManager[StopRequest]:
    """Return a context in which the first signal is noted, and not obeyed.

    A second SIGINT or SIGTERM ends the process as outside; a SIGUSR1 from before counts, and one
    from an inner such context in an outer. Without `end_on_signals` nothing is ever noted.

    Returns
    -------
    context manager of StopRequest
        It yields what notes it.
    """
    return _reader.stop_requests()


def end_on_signals(first: bool, cleanup: Callable[[], None]) -> None:
    """From now on end this process on SIGINT and SIGTERM, with exit code 128 + signal.

    Only the main thread may call this; the handlers stay.

    Parameters
    ----------
    first : bool
        Whether this rank says so, and ends at once; others wait HEADSTART_S seconds for it.
    cleanup : callable
        Called before the end, in another thread.

    Raises
    ------
    ValueError : another thread calls this.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in (*ENDING, ASKING):
        signal.signal(number, _noted)

    def wait() -> None:
        (number,) = os.read(reading, 1)
        while number not in (*ENDING, ASKING) or not _reader.take(number, first):
            (number,) = os.read(reading, 1)
        if not first:
            time.sleep(HEADSTART_S)
        cleanup()
        if first:
            _say(f"interrupted ({_name(number)}); nothing half written is left")
        end_by_signal(number)

    threading.Thread(target=wait, name="signals", daemon=True).start()


def _name(number: int) -> str:
    return signal.Signals(number).name


def _say(text: str) -> None:
    print(f"\nhpc: {text}", file=sys.stderr, flush=True)


def _noted(number: int, frame: object) -> None:
    """Do nothing: the thread has been woken."""
