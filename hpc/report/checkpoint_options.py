"""The options of commands that can be stopped and go on: `--checkpoint` and what belongs to it."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from hpc.io.checkpoint_options import DEFAULT_KEEP, CheckpointOptions, Every
from hpc.io.errors import InputError
from hpc.report.durations import seconds_of

DEFAULT_EVERY = "10m"


def parse_every(text: str) -> Every:
    """Return what '90s', '10m', '1.5h' or '500steps' says.

    Parameters
    ----------
    text : str
        What the user wrote.

    Returns
    -------
    Every
        Either its seconds or its steps, above 0.

    Raises
    ------
    InputError : anything else, or nothing at all.
    """
    seconds = seconds_of(text)
    if seconds is not None:
        return Every(seconds=seconds)
    found = re.fullmatch(r"(\d+)\s*steps?", text.strip())
    if found and int(found[1]) > 0:
        return Every(steps=int(found[1]))
    raise InputError(
        f"--every {text}: expected a time such as 90s, 10m or 2h, or a number of steps such as "
        "500steps"
    )


def add_checkpoint(parser: argparse.ArgumentParser) -> None:
    """Add --checkpoint, --every, --keep and --fresh.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a command that can be stopped and go on.
    """
    group = parser.add_argument_group("checkpoints")
    group.add_argument(
        "--checkpoint",
        metavar="DIR",
        help="keep checkpoints in this folder, which all ranks share, and go on from the newest "
        "complete one; USR1, TERM and Ctrl-C write one and end the run with exit code 3",
    )
    group.add_argument(
        "--every", metavar="TIME|STEPS", help=f"90s, 10m, 2h or 500steps (default {DEFAULT_EVERY})"
    )
    group.add_argument(
        "--keep", type=int, metavar="K", help=f"how many complete ones (default {DEFAULT_KEEP})"
    )
    group.add_argument("--fresh", action="store_true", help="ignore the checkpoints there are")
    parser.set_defaults(checkpoint_after=0)


def checkpoint_options(args: argparse.Namespace) -> CheckpointOptions | None:
    """Return what the options ask for.

    Parameters
    ----------
    args : argparse.Namespace
        Of a command with `add_checkpoint`.

    Returns
    -------
    CheckpointOptions or None
        What they ask for; None without --checkpoint.

    Raises
    ------
    InputError : values out of range; an option that needs --checkpoint.
    """
    if args.checkpoint is None:
        for name in ("every", "keep", "fresh"):
            if getattr(args, name):
                raise InputError(f"--{name}: is for runs with --checkpoint DIR")
        return None
    keep = DEFAULT_KEEP if args.keep is None else args.keep
    if keep < 1:
        raise InputError(f"--keep {keep}: expected at least 1")
    if not args.checkpoint:
        raise InputError("--checkpoint: expected the name of a folder")
    every = parse_every(DEFAULT_EVERY if args.every is None else args.every)
    root = Path(args.checkpoint)
    return CheckpointOptions(root, every, keep, args.fresh, args.checkpoint_after)
