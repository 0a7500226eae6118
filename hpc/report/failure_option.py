"""The option of commands that can outlive the death of a rank: `--on-failure`."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from hpc.io.errors import InputError

Fewer = Callable[[argparse.Namespace, int], argparse.Namespace]
"""Returns the options of a run for so many ranks, fewer than it was begun with; may not change
those it is given. Raises InputError for what fewer ranks cannot do."""


def add_on_failure(
    parser: argparse.ArgumentParser, fewer: Fewer = lambda args, ranks: args
) -> None:
    """Add --on-failure to a command with --checkpoint.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of the command.
    fewer : callable
        What else changes on fewer ranks, see `Fewer`.
    """
    parser.add_argument(
        "--on-failure",
        choices=("abort", "shrink"),
        default="abort",
        help="when a rank dies: abort the job (default), or shrink it to the ranks that are left, "
        "which go on from the newest checkpoint (needs --checkpoint and Open MPI's mpirun "
        "--with-ft ulfm)",
    )
    parser.set_defaults(fewer=fewer)


def can_shrink(args: argparse.Namespace) -> bool:
    """Return whether a command has the option.

    Parameters
    ----------
    args : argparse.Namespace
        Of any command.

    Returns
    -------
    bool
        Whether it was added, not whether it was given.
    """
    return hasattr(args, "on_failure")


def shrinks(args: argparse.Namespace, ranks: int) -> bool:
    """Return whether a command that has the option is to outlive deaths.

    Parameters
    ----------
    args : argparse.Namespace
        Of a command with `add_on_failure`.
    ranks : int
        At its start.

    Returns
    -------
    bool
        True for --on-failure shrink.

    Raises
    ------
    InputError : it is, and keeps no checkpoints, or could not go on on fewer ranks; it is not,
        and has options for that.
    """
    if args.on_failure != "shrink":
        if getattr(args, "spare_plan", None):
            raise InputError("--spare-plan: is for runs with --on-failure shrink")
        return False
    if args.checkpoint is None:
        raise InputError("--on-failure shrink: is for runs with --checkpoint DIR")
    args.fewer(args, max(1, ranks - 1))
    return True


def fewer_options(args: argparse.Namespace, ranks: int, after: int) -> argparse.Namespace:
    """Return the options with which the ranks that are left go on.

    Parameters
    ----------
    args : argparse.Namespace
        With which the run was begun; not changed.
    ranks : int
        That are left.
    after : int
        With --fresh, only checkpoints with a larger number are of this run.

    Returns
    -------
    argparse.Namespace
        New ones, without --fresh.

    Raises
    ------
    InputError : see `Fewer`.
    """
    found: argparse.Namespace = args.fewer(args, ranks)
    return argparse.Namespace(
        **vars(found) | {"fresh": False, "checkpoint_after": after if args.fresh else 0}
    )
