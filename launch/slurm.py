"""SLURM's own commands, run with a time limit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Sequence

from hpc.io.errors import InputError

SECONDS = 60
UNREACHABLE = (
    "Could not establish a configuration source", "Unable to contact slurm controller",
)  # fmt: skip
"""What SLURM's commands say where there is no configuration, or no controller that answers."""


def ask(words: Sequence[str], given: str = "") -> str:
    """Run one of SLURM's commands and return what it prints.

    Parameters
    ----------
    words : sequence of str
        Of the command line.
    given : str
        Its standard input.

    Returns
    -------
    str
        Standard output.

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
        raise InputError(one_line(words[0], said))
    return os.fsdecode(ran.stdout)


def one_line(program: str, said: str) -> str:
    """Return what one of SLURM's commands says of its failure, as one line that names it.

    Parameters
    ----------
    program : str
        Name of the command.
    said : str
        What it printed on standard error; not empty.

    Returns
    -------
    str
        Where SLURM cannot be reached, only that; else all lines, joined by semicolons.
    """
    mark = re.compile(rf"{re.escape(program)}: (error|fatal): ")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    for line in lines:
        if any(cause in line for cause in UNREACHABLE):
            return f"{program}: SLURM cannot be reached from here ({mark.sub('', line)})"
    first, *rest = lines
    start = first if first.startswith(program) else f"{program}: {first}"
    return "; ".join([start, *(mark.sub("", line) for line in rest)])
