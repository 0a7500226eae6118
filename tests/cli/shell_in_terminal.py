"""A shell in a pseudo-terminal, with keys pressed in it."""

from __future__ import annotations

import contextlib
import os
import pty
import select
import signal
import time

LIMIT_S = 20


@contextlib.contextmanager
def shell(words, folder, environment):
    """Yield `keys(text, until)`: types a text, returns what is shown up to and with `until`."""
    process, terminal = pty.fork()
    if process == 0:
        os.chdir(folder)
        os.execvpe(words[0], words, environment)
    shown = bytearray()

    def keys(text, until):
        os.write(terminal, text.encode())
        deadline = time.monotonic() + LIMIT_S
        while until.encode() not in shown:
            left = deadline - time.monotonic()
            assert left > 0, f"no {until!r} after {text!r} in {bytes(shown)!r}"
            if select.select([terminal], [], [], left)[0]:
                shown.extend(os.read(terminal, 4096))
        end = shown.index(until.encode()) + len(until)
        found = bytes(shown[:end]).decode(errors="replace")
        del shown[:end]
        return found

    try:
        yield keys
    finally:
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
        os.close(terminal)
