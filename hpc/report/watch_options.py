"""The options of commands that can be watched: while they run and afterwards."""

from __future__ import annotations

import argparse

from hpc.cli.shared_options import add_quiet, add_verbose
from hpc.io.errors import InputError
from hpc.io.outputs import check_outputs
from hpc.report.event_log import check_log
from hpc.report.run_folder import check_run_folder
from hpc.report.scalars import check_scalars


def add_watching(parser: argparse.ArgumentParser) -> None:
    """Add --quiet, --verbose, --log, --tensorboard and --run.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a command of the engines.
    """
    add_quiet(parser)
    add_verbose(parser)
    group = parser.add_argument_group("watching")
    group.add_argument(
        "--log", metavar="FILE.jsonl", help="append events there as they come, one JSON object each"
    )
    group.add_argument(
        "--tensorboard", metavar="DIR", help="write scalars there (needs tensorboard)"
    )
    group.add_argument(
        "--run",
        dest="run_folder",
        metavar="DIR",
        help="keep the run there, for 'python -m hpc report DIR --html page.html'",
    )


def check_watching(args: argparse.Namespace, command: str) -> None:
    """Check the options, on the first rank; folders are made.

    Parameters
    ----------
    args : argparse.Namespace
        Of a command with `add_watching`.
    command : str
        'spdnn train'.

    Raises
    ------
    InputError : --quiet with --verbose; what cannot be written; a folder that holds another run;
        tensorboard is not installed.
    """
    if args.quiet and args.verbose:
        raise InputError("--quiet and --verbose: give one of them")
    check_outputs(vars(args), ["log"])
    if args.log is not None:
        check_log(args.log)
    if args.tensorboard is not None:
        check_scalars(args.tensorboard)
    if args.run_folder is not None:
        goes_on = getattr(args, "checkpoint", None) is not None
        check_run_folder(args.run_folder, command, goes_on)
