"""The command line of `doctor`: options only; what it does is imported when run."""

from __future__ import annotations

import argparse
from typing import Any

from hpc.cli.shared_options import add_json, add_quiet


def add_parser(engines: Any) -> None:
    """Add `doctor` to the engines' subparsers.

    Parameters
    ----------
    engines : argparse subparsers
        Of `python -m hpc`.
    """
    parser = engines.add_parser(
        "doctor",
        help="what the ranks run on, and what is wrong with it",
        description="Prints what every rank runs on, what messages between ranks take, and what "
        "is wrong with what to set (--quiet: only that). Exit code 0: nothing is wrong; 1: "
        "something is; 2: bad usage, or a launcher under which MPI cannot start.",
        examples=["mpirun -n 2 python -m hpc doctor --json doctor.json"],
    )
    add_json(parser, "facts, times and findings")
    add_quiet(parser)
    parser.add_argument("--quick", action="store_true", help="do not time messages between ranks")
    parser.set_defaults(run=_run, any_launcher=True)


def _run(args: argparse.Namespace, comm: Any) -> int:
    from hpc.doctor.command import run

    return run(args, comm)
