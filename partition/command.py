"""A command of `python -m partition`: its help and its example."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from hpc.cli.shared_options import add_quiet

PROG = "python -m partition"


def add_command(
    commands: Any,
    name: str,
    run: Callable[[argparse.Namespace], None],
    summary: str,
    example: str,
) -> argparse.ArgumentParser:
    """Add a command to the subparsers and return its parser, with --quiet.

    Parameters
    ----------
    commands : of the tool's parser.
    name : of the command.
    run : called with the options.
    summary : of the command, in a line.
    example : without the program's name.

    Returns
    -------
    The command's parser.
    """
    command: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        examples=[f"{PROG} {example}"],
    )
    add_quiet(command)
    command.set_defaults(run=run)
    return command
