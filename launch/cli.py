"""The command line of the launcher."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hpc.cli.completion import add_completion
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from launch.local_command import LOCAL, add_local
from launch.logs_command import add_logs
from launch.slurm_command import add_slurm
from launch.status_command import add_status


def main(arguments: Sequence[str]) -> None:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name; those after ``--`` are the command's.

    Raises
    ------
    InputError : bad usage, bad input.
    """
    words = list(arguments)
    place = words.index("--") if "--" in words else len(words)
    options = parse(build_parser(), words[:place])
    options.run(options, words[place + 1 :])


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; each command sets `run(options, words)`, words those after ``--``.

    Returns
    -------
    argparse.ArgumentParser
        Of `python -m launch`; a command is required.
    """
    parser = Parser(
        prog="python -m launch",
        description="Start engines and tools here, or as jobs of SLURM.",
        examples=[LOCAL],
    )
    add_completion(parser, build_parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (add_local, add_slurm, add_status, add_logs):
        add(commands)
    complete(parser)
    return parser
