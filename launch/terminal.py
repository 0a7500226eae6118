"""The terminal in which `launch` was started: the ranks are told of it."""

from __future__ import annotations

import os
import sys

from hpc.report.terminal import VARIABLE, Terminal

WIDTH = 80
"""Columns of a terminal that does not know its own, as those of some programs do not."""


def terminal_variables() -> dict[str, str]:
    """Return what to add to the ranks' environment.

    Returns
    -------
    The variable that tells them of the terminal to which mpirun hands on their standard error;
    nothing where that is none, or one that cannot move its cursor.
    """
    if not sys.stderr.isatty() or os.environ.get("TERM", "dumb") == "dumb":
        return {}
    columns = os.get_terminal_size(sys.stderr.fileno()).columns or WIDTH
    return {VARIABLE: Terminal(columns, sys.stdout.isatty()).text}
