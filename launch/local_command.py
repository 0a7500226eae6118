"""`local`: run a command here, under mpirun where it is an MPI program."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from hpc.cli.shared_options import add_json, add_quiet
from hpc.cli.words import Words
from hpc.report.figures import write_json
from launch.command import command_of
from launch.local import Host, LocalOptions, local_run, local_text
from launch.mpirun import BINDINGS, found_flavour, mpirun_path
from launch.ranks import check_ranks
from launch.terminal import terminal_variables
from launch.watched import run_watched

LOCAL = (
    "python -m launch local -n 2 -- spdnn infer net.h5 hpc/samples/challenge-1024.h5 --plan plan.h5"
)
"""The example."""


def add_local(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m launch`.
    """
    parser = commands.add_parser(
        "local",
        help="run on this machine",
        examples=[LOCAL],
    )
    parser.add_argument(
        "-n", "--ranks", dest="n", type=int, default=1, metavar="N", help="ranks (default 1)"
    )
    parser.add_argument(
        "--threads", type=int, default=1, metavar="T", help="threads of a rank (default 1)"
    )
    parser.add_argument(
        "--bind",
        type=Words(BINDINGS),
        default="core",
        metavar="|".join(BINDINGS),
        help="ranks to cores, where there are enough (default core)",
    )
    parser.add_argument("--dry-run", action="store_true", help="print the command line only")
    add_json(parser, "the command line and the variables set for it")
    add_quiet(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace, words: Sequence[str]) -> None:
    options = LocalOptions(args.n, args.threads, args.bind)
    command = command_of(words)
    host = Host(len(os.sched_getaffinity(0)), os.geteuid() == 0)
    if command.on_ranks:
        check_ranks(command.words, options.ranks)
        mpirun = mpirun_path()
        host = Host(host.cores, host.root, mpirun, found_flavour(mpirun))
    environment, argv = local_run(options, host, command, [sys.executable])
    if args.json:
        figures = {"ranks": options.ranks, "argv": argv, "environment": environment}
        write_json(args.json, figures)
    if args.dry_run:
        print(local_text(environment, argv))
        return
    sys.stdout.flush()
    if command.on_ranks and not args.quiet:
        environment = environment | terminal_variables()
    if host.flavour == "mpich":
        sys.exit(run_watched(argv, os.environ | environment, options.ranks))
    os.execvpe(argv[0], argv, os.environ | environment)
