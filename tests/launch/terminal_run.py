"""Run a command with standard error, and perhaps standard output, on a pseudo-terminal."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import termios

from tests.launching import ROOT

LIMIT_S = 120


def run_in_terminal(command, columns, stdout=None):
    """Return exit code and what the terminal got. stdout : a file instead of the terminal."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = os.environ | {"TERM": "xterm", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}
    words = ["timeout", "-s", "TERM", str(LIMIT_S), *map(str, command)]
    running = subprocess.Popen(
        words, cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=stdout or theirs,
        stderr=theirs,
    )  # fmt: skip
    os.close(theirs)
    shown = bytearray()
    with contextlib.suppress(OSError):  # EIO: the last of them has closed it
        while part := os.read(ours, 65536):
            shown.extend(part)
    os.close(ours)
    return running.wait(), shown.decode()
