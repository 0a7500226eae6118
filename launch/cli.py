"""The command line of the launcher."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from launch.local_command import add_local
from launch.logs_command import add_logs
from launch.options import LaunchParser
from launch.slurm_command import add_slurm
from launch.status_command import add_status


def main(arguments: Sequence[str]) -> None:
    """Run one command.

    Raises
    ------
    InputError : bad usage, bad input.
    """
    words = list(arguments)
    place = words.index("--") if "--" in words else len(words)
    options = _parser().parse_args(words[:place])
    options.run(options, words[place + 1 :])


def _parser() -> argparse.ArgumentParser:
    parser = LaunchParser(
        prog="python -m launch",
        description="Start engines and tools here, or as jobs of SLURM.",
        epilog="example: python -m launch slurm --nodes 8 --tasks-per-node 16 --time 02:00:00 -- "
        "pipebd train vgg16-dsconv --data cifar.h5 --out student.pt",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for add in (add_local, add_slurm, add_status, add_logs):
        add(commands)
    return parser
