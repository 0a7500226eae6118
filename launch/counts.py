"""Numbers of nodes, ranks, threads and GPUs, checked. Pure."""

from __future__ import annotations

from hpc.io.errors import InputError

MOST = (1 << 31) - 1
"""MPI's and SLURM's numbers are of 32 bits."""


def check_count(what: str, value: int, least: int = 1) -> None:
    """Check a number of a command line.

    Parameters
    ----------
    what : str
        Its option, with dashes.
    value : int
        The number.
    least : int
        The smallest that is allowed.

    Raises
    ------
    InputError : it is below `least` or above MOST.
    """
    if value < least:
        raise InputError(f"{what} {value}: expected at least {least}")
    if value > MOST:
        raise InputError(f"{what} {value}: expected at most {MOST}")
