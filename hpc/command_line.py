"""The command line of `python -m hpc`: from words to an exit code."""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hpc.cli.completion import add_completion
from hpc.cli.config import parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.comm.ending import outlived
from hpc.comm.interrupt import stop_requests
from hpc.comm.launcher import launched_rank
from hpc.comm.mpi_start import end_for_launcher, start_mpi
from hpc.doctor import commands as doctor
from hpc.io.errors import EXIT_BAD_INPUT, InputError
from hpc.pipebd import commands as pipebd
from hpc.report import commands as report
from hpc.report.failure_option import can_shrink, fewer_options, shrinks
from hpc.report.warning import warn
from hpc.spdnn import commands as spdnn

if TYPE_CHECKING:
    from mpi4py import MPI


def build_parser() -> argparse.ArgumentParser:
    """Return the parser; each command sets `run(args, comm)` or, without MPI, `run_alone(args)`."""
    parser = Parser(
        prog="python -m hpc",
        description="Deep networks cut across MPI ranks.",
        examples=[
            spdnn.INFER,
            "mpirun -n 2 python -m hpc doctor --json doctor.json",
        ],
    )
    add_completion(parser, build_parser)
    engines = parser.add_subparsers(metavar="ENGINE", required=True)
    spdnn.add_parser(engines)
    pipebd.add_parser(engines)
    doctor.add_parser(engines)
    report.add_parser(engines)
    complete(parser)
    return parser


def main(argv: Sequence[str]) -> int:
    """Run a command line and return its exit code."""
    try:
        args = _parse(argv)
    except InputError as error:
        if launched_rank() == 0:
            print(f"hpc: error: {error}", file=sys.stderr)
        return EXIT_BAD_INPUT
    if args.run_alone is not None:
        with contextlib.suppress(BrokenPipeError):  # of `| head`
            return int(args.run_alone(args))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    with stop_requests() if getattr(args, "checkpoint", None) else contextlib.nullcontext():
        world, wrong = start_mpi()
        if wrong and not args.any_launcher:
            end_for_launcher(launched_rank(), wrong)
        from hpc.comm.crowding import crowding
        from hpc.comm.world import run_program

        crowded = "" if args.any_launcher else crowding(world)
        if crowded:
            warn(crowded)

        return run_program(lambda: _run(args, world), world)


def _run(args: argparse.Namespace, world: MPI.Intracomm) -> int:
    """Run a command under MPI; when ranks die and it is asked for, again on those that are left."""
    from hpc.comm.checkpoint_start import newest_number
    from hpc.comm.survival import survive
    from hpc.comm.world import together

    def attempt(comm: MPI.Intracomm) -> int:
        if comm.size == world.size:
            return int(args.run(args, comm))
        with together(comm):
            left = fewer_options(args, comm.size, after)
        return int(args.run(left, comm))

    shrinking = False
    if can_shrink(args):
        with together(world):
            shrinking = shrinks(args, world.size)
    if shrinking:
        after = newest_number(world, Path(args.checkpoint))
    elif not outlived():
        return int(args.run(args, world))
    return survive(world, attempt, shrinking)


def _parse(argv: Sequence[str]) -> argparse.Namespace:
    """Parse on every rank; only the first prints what --help and --version say."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            return parse(build_parser(), argv)
    finally:
        if launched_rank() == 0:
            sys.stdout.write(printed.getvalue())
