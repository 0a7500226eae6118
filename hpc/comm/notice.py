"""What a run says of itself on standard error: stopped, gone on with, a checkpoint not written."""

from __future__ import annotations

import sys


def notice(text: str) -> None:
    """Say something on standard error.

    Parameters
    ----------
    text : str
        One line, which gets 'hpc: ' before it.
    """
    print(f"hpc: {text}", file=sys.stderr, flush=True)
