"""The command line of the partition tool."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from partition.build_command import add_build
from partition.command import PROG
from partition.compare_command import add_compare
from partition.predict_command import add_predict
from partition.shard_command import add_shard
from partition.stats_command import add_stats


def main(arguments: Sequence[str]) -> None:
    """Run one command.

    Raises
    ------
    InputError : bad input; argparse ends the program on bad usage, with the same exit code.
    """
    options = _parser().parse_args(arguments)
    options.run(options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Cut a network for a number of ranks, ahead of time and without MPI.",
        epilog=f"example:\n  {PROG} build net.h5 --parts 8 --out plan.h5\n"
        f"  {PROG} stats plan.h5\n  mpirun -n 8 python -m hpc spdnn infer net.h5 x.h5 "
        "--plan plan.h5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (add_build, add_stats, add_shard, add_compare, add_predict):
        add(commands)
    return parser
