"""`status`: how submitted jobs stand."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from hpc.cli.shared_options import add_json
from hpc.io.errors import InputError
from hpc.report.figures import table, write_json
from launch.options import add_output
from launch.records import records
from launch.status import HEAD, rows, states


def add_status(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m launch`.
    """
    parser = commands.add_parser(
        "status", help="how submitted jobs stand", examples=["python -m launch status 4711"]
    )
    parser.add_argument("jobs", nargs="*", metavar="JOBID", help="(default all in --output)")
    add_output(parser)
    add_json(parser, "the states")
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace, words: Sequence[str]) -> None:
    if words:
        raise InputError("status: there is nothing to run; leave -- away")
    lines: list[list[str]] = []
    figures = []
    for record in records(args.output, args.jobs):
        found = states(record, args.output)
        wanted = {job for job in args.jobs if job.startswith(f"{record.job}_")}
        if wanted and record.job not in args.jobs:
            found = [state for state in found if state.job in wanted]
        lines += rows(record, found)
        figures.append(asdict(record) | {"states": [asdict(state) for state in found]})
    print(table(HEAD, lines))
    if args.json:
        write_json(args.json, {"jobs": figures})
