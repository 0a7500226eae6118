"""SLURM's own commands, run with a time limit."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence

from hpc.io.errors import InputError

SECONDS = 60


def ask(words: Sequence[str], given: str = "") -> str:
    """Run one of SLURM's commands and return what it prints. given : its standard input.

    Raises
    ------
    InputError : it is not installed, fails, or takes longer than SECONDS.
    """
    try:
        ran = subprocess.run(
            words, input=os.fsencode(given), capture_output=True, timeout=SECONDS, check=False
        )
    except FileNotFoundError as error:
        raise InputError(f"{words[0]}: not found; is SLURM on this machine?") from error
    except subprocess.TimeoutExpired as error:
        raise InputError(f"{words[0]}: no answer in {SECONDS} s") from error
    if ran.returncode:
        said = os.fsdecode(ran.stderr).strip() or f"exit code {ran.returncode}"
        raise InputError(said if said.startswith(words[0]) else f"{words[0]}: {said}")
    return os.fsdecode(ran.stdout)
