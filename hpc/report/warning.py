"""Words of a run that goes on all the same."""

from __future__ import annotations

import sys


def warn(message: str) -> None:
    """Print a warning on standard error.

    Parameters
    ----------
    message : str
        One line, without 'warning'.
    """
    print(f"hpc: warning: {message}", file=sys.stderr, flush=True)
