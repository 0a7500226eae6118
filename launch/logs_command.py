"""`logs`: what a submitted job prints."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

from hpc.cli.shared_options import add_quiet
from hpc.io.errors import InputError
from launch.logs import Tail, follow, log_paths
from launch.options import add_output
from launch.records import records


def add_logs(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m launch`.
    """
    parser = commands.add_parser(
        "logs", help="what a job prints", examples=["python -m launch logs 4711 --follow"]
    )
    parser.add_argument("job", metavar="JOBID", help="of an array, JOBID_TASK shows one task")
    parser.add_argument("--follow", action="store_true", help="go on until the job has ended")
    add_output(parser)
    add_quiet(parser)
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace, words: Sequence[str]) -> None:
    if words:
        raise InputError("logs: there is nothing to run; leave -- away")
    (record,) = records(args.output, [args.job])
    paths = log_paths(record, args.output, args.job)
    tail = Tail(paths)
    try:
        shown = False
        for text in follow(record, args.output, tail) if args.follow else tail.look():
            shown = True
            sys.stdout.buffer.write(text)
            sys.stdout.buffer.flush()
    except BrokenPipeError:  # of `| head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return
    except KeyboardInterrupt:
        return
    if not (shown or args.quiet):
        print(f"launch: {paths[0]}: nothing printed yet", file=sys.stderr)
