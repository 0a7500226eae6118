"""Ctrl-C and a polite kill end a rank at once, also one that waits inside MPI.

Python runs signal handlers between its own instructions, so a rank that waits in an MPI call
for a peer that is gone would never see one. Here the C handler wakes a thread, which ends
the process. The launcher then ends the others.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable

ENDING = (signal.SIGINT, signal.SIGTERM)
HEADSTART_S = 0.5
"""What the first rank, who writes files, has before the others end and it is killed."""


def end_on_signals(first: bool, cleanup: Callable[[], None]) -> None:
    """From now on end this process on SIGINT and SIGTERM, with exit code 128 + signal.

    first : whether this rank says so. cleanup : called before, in another thread.
    Only the main thread may call this; the handlers stay.
    """
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in ENDING:
        signal.signal(number, _noted)

    def wait() -> None:
        (number,) = os.read(reading, 1)
        while number not in ENDING:
            (number,) = os.read(reading, 1)
        if not first:
            time.sleep(HEADSTART_S)
        cleanup()
        if first:
            name = signal.Signals(number).name
            print(f"\nhpc: interrupted ({name}); nothing half written is left", file=sys.stderr)
            sys.stderr.flush()
        os._exit(128 + number)

    threading.Thread(target=wait, name="signals", daemon=True).start()


def _noted(number: int, frame: object) -> None:
    """Do nothing: the thread has been woken."""
