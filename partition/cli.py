"""The command line of the partition tool."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hpc.cli.completion import add_completion
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from partition.build_command import add_build
from partition.command import PROG
from partition.compare_command import add_compare
from partition.predict_command import add_predict
from partition.shard_command import add_shard
from partition.stats_command import add_stats


def main(arguments: Sequence[str]) -> None:
    """Run one command.

    Parameters
    ----------
    arguments : sequence of str
        Words of the command line, without the program's name.

    Raises
    ------
    InputError : bad usage, bad input.
    """
    options = parse(build_parser(), arguments)
    options.run(options)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; each command sets `run(options)`.

    Returns
    -------
    argparse.ArgumentParser
        Of `python -m partition`; a command is required.
    """
    parser = Parser(
        prog=PROG,
        description="Cut a network for a number of ranks, ahead of time and without MPI.",
        examples=[
            f"{PROG} build net.h5 --parts 2 --epsilon 0.01 --seed 0 --out plan.h5",
            f"{PROG} stats plan.h5 --json stats.json",
        ],
    )
    add_completion(parser, build_parser)
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (add_build, add_stats, add_shard, add_compare, add_predict):
        add(commands)
    complete(parser)
    return parser
