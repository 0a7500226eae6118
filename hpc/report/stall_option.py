"""The option of commands that are watched over: `--stall`."""

from __future__ import annotations

import argparse

from hpc.io.errors import InputError
from hpc.report.durations import seconds_of


def add_stall(parser: argparse.ArgumentParser) -> None:
    """Add --stall.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a command that is watched over.
    """
    parser.add_argument(
        "--stall",
        metavar="TIME",
        help="when a rank makes no progress for so long (90s, 5m, 1h), all that have work left "
        "say where they stand and the job ends with exit code 1 (default never); longer than "
        "any step takes",
    )


def stall_seconds(args: argparse.Namespace) -> float | None:
    """Return what --stall says.

    Parameters
    ----------
    args : argparse.Namespace
        Of a command with `add_stall`.

    Returns
    -------
    float or None
        Seconds; None without.

    Raises
    ------
    InputError : anything but a time above 0.
    """
    if args.stall is None:
        return None
    seconds = seconds_of(args.stall)
    if seconds is None:
        raise InputError(f"--stall {args.stall}: expected a time such as 90s, 5m or 1h")
    return seconds
