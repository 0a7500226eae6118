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
from hpc.cli.config import names_config, parse
from hpc.cli.every_command import complete
from hpc.cli.parser import Parser
from hpc.cli.tree import command_of
from hpc.comm.ending import outlived
from hpc.comm.interrupt import stop_requests
from hpc.comm.launcher import RANK_VARIABLES, launched_rank
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
    """Return the parser; each command sets `run(args, comm)` or, without MPI, `run_alone(args)`.

    Returns
    -------
    argparse.ArgumentParser
        Of all engines.
    """
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
    """Run a command line, on every rank of a job; MPI is started where the command needs it.

    Parameters
    ----------
    argv : sequence of str
        Words after `python -m hpc`.

    Returns
    -------
    int
        Exit code: 0 done, 2 bad input, else the command's.

    Raises
    ------
    SystemExit : of --help and the like; with code 2 where MPI cannot start, see `start_mpi`.
    """
    parsed = _parsed(argv)
    if isinstance(parsed, InputError) and not _may_differ(argv):
        if launched_rank() == 0:
            print(f"hpc: error: {parsed}", file=sys.stderr)
        return EXIT_BAD_INPUT
    run_alone = getattr(parsed, "run_alone", None)
    if run_alone is not None:
        with contextlib.suppress(BrokenPipeError):  # of `| head`
            return int(run_alone(parsed))
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    with stop_requests() if getattr(parsed, "checkpoint", None) else contextlib.nullcontext():
        world, wrong = start_mpi()
        if wrong and not getattr(parsed, "any_launcher", False):
            end_for_launcher(launched_rank(), wrong)
        from hpc.comm.world import run_program

        return run_program(lambda: _run(_agreed(parsed, world), world), world)


def _may_differ(argv: Sequence[str]) -> bool:
    """Return whether ranks may find different things in this command line: it names a file."""
    parser = build_parser()
    _, command = command_of(parser, list(argv))
    on_ranks = command.get_default("run_alone") is None
    several = any(name in os.environ for name in RANK_VARIABLES)
    return on_ranks and several and names_config(parser, argv)


def _agreed(parsed: argparse.Namespace | InputError, world: MPI.Intracomm) -> argparse.Namespace:
    """Return the options once all ranks have them, the same ones. Collective."""
    from hpc.comm.crowding import crowding
    from hpc.comm.sameness import same_on_all
    from hpc.comm.world import together

    with together(world):
        if isinstance(parsed, InputError):
            raise parsed
    if parsed.config is not None:
        file = f"--config {parsed.config}"
        same_on_all(world, **{f"{file}: {name}": it for name, it in parsed.in_force.items()})
    crowded = "" if parsed.any_launcher else crowding(world)
    if crowded:
        warn(crowded)
    return parsed


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


def _parsed(argv: Sequence[str]) -> argparse.Namespace | InputError:
    """Parse on every rank; only the first prints what --help and --version say."""
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            return parse(build_parser(), argv)
    except InputError as error:
        return error
    finally:
        if launched_rank() == 0:
            sys.stdout.write(printed.getvalue())
