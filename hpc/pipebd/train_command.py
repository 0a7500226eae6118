"""`pipebd train`: a teacher's weights and images in, students out."""

from __future__ import annotations

import argparse
from dataclasses import replace
from functools import partial

from mpi4py import MPI

from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.pipebd import emulate_command
from hpc.pipebd.checkpoint_run import Keeping
from hpc.pipebd.distillation import distill
from hpc.pipebd.execution import Job
from hpc.pipebd.measuring import measure_prepared
from hpc.pipebd.names import BASELINES
from hpc.pipebd.nas import ArchitectureSettings
from hpc.pipebd.outlook import Plan, shown
from hpc.pipebd.planning import plan_run
from hpc.pipebd.preparation import Prepared, TrainingOptions, prepare
from hpc.pipebd.profile_data import Profile, check_fits
from hpc.pipebd.profile_file import read_profile
from hpc.pipebd.recorder import Tally
from hpc.pipebd.run_identity import identity
from hpc.pipebd.session import Session, check_same_blocks, kept_record, recipe_of, session
from hpc.pipebd.standing_spans import watched_job
from hpc.pipebd.train_report import report, tell_epoch
from hpc.report.checkpoint_options import checkpoint_options
from hpc.report.record import Record
from hpc.report.stall_option import stall_seconds
from hpc.report.trace import SpanLog

SEARCH_OPTIONS = {
    "every": "architecture_every",
    "first": "architecture_first",
    "flops_weight": "flops_weight",
}
"""Fields of `ArchitectureSettings` and the options that set them."""


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective over `world`.

    Parameters
    ----------
    args : argparse.Namespace
        The options, the same on all ranks; with `emulate` what `emulate_command` does.
    world : MPI.Comm
        Of the job; duplicated.

    Returns
    -------
    int
        Exit code: 0.

    Raises
    ------
    AgreedError : on all ranks: options, files or blocks that cannot be used.
    InputError : on one rank alone, for a loss that is not finite; on the first, where a file cannot
        be written any more at the end.
    Stopped : on all ranks, where checkpoints are kept and a stop was asked for.
    """
    if args.emulate is not None:
        return emulate_command.run(args, world)
    with session(args, world) as here:
        with together(here.comm):
            prepared = prepare(recipe_of(args, here.file), _options(args), here.file, here.device)
            profile = _check(args, prepared)
            stall_s = stall_seconds(args)
            keeping = _keeping(args, prepared, here.first)
        check_same_blocks(here.comm, [b.shape for b in prepared.program.boundaries])
        with kept_record(args, here.comm) as record:
            _train(args, here, prepared, profile, keeping, stall_s, record)
    return 0


def _train(
    args: argparse.Namespace,
    here: Session,
    prepared: Prepared,
    profile: Profile | None,
    keeping: Keeping | None,
    stall_s: float | None,
    record: Record,
) -> None:
    """Choose the schedule, train, report. Collective."""
    measured = partial(measure_prepared, here, prepared, args.profile_steps, record)
    n_blocks = prepared.program.n_blocks
    plan = plan_run(here.comm, args.schedule, n_blocks, args.batch, profile, measured)
    if here.first:
        _say_start(args, prepared, plan)
    log = SpanLog(here.comm.rank)
    tally = Tally(log) if args.trace or args.run_folder else Tally()
    job = Job(
        here.comm, plan.choice, prepared.program, here.transport, prepared.program.epochs,
        plan.packing, args.queue, tally, keeping=keeping, gauges=record.gauges,
    )  # fmt: skip
    course = ("images", args.batch) if plan.choice.schedule is not None else ("rounds", 1)
    with record.watch("train", job.rounds, *course) as job.advance, watched_job(job, stall_s):
        tells = here.first or plan.choice.name == "ls"  # there a rank knows only its blocks
        tell = partial(tell_epoch, record) if tells else lambda epoch: None
        found = distill(job, prepared.network.head, not prepared.network.searching, tell)
    report(args, here, prepared, plan, found, log, tally, record)


def _options(args: argparse.Namespace) -> TrainingOptions:
    given = {field: getattr(args, option) for field, option in SEARCH_OPTIONS.items()}
    asked = {field: value for field, value in given.items() if value is not None}
    options = TrainingOptions(
        args.batch, args.epochs, args.lr, args.validation, args.steps, args.teacher,
        replace(ArchitectureSettings(), **asked),
    )  # fmt: skip
    if args.architecture_share is not None:
        return replace(options, architecture_share=args.architecture_share)
    return options


def _check(args: argparse.Namespace, prepared: Prepared) -> Profile | None:
    """Check what only this command has; return the profile that was given, if any."""
    search = [*SEARCH_OPTIONS.values(), "architecture_share", "architecture_out"]
    used = [f"--{name.replace('_', '-')}" for name in search if getattr(args, name) is not None]
    if used and not prepared.network.searching:
        raise InputError(f"{', '.join(used)}: {prepared.recipe.label} is not a search")
    if args.profile is None:
        return None
    profile = read_profile(args.profile)
    check_fits(
        profile,
        args.profile,
        workload=prepared.recipe.label,
        batch=args.batch,
        n_blocks=prepared.program.n_blocks,
    )
    return profile


def _keeping(args: argparse.Namespace, prepared: Prepared, first: bool) -> Keeping | None:
    """Return what is asked of checkpoints; only the first rank need know what the run is."""
    options = checkpoint_options(args)
    if options is None:
        return None
    if args.schedule in BASELINES:
        raise InputError(
            f"--checkpoint: the baseline {args.schedule} keeps none; expected another --schedule"
        )
    return Keeping(options, identity(prepared, _options(args)) if first else {})


def _say_start(args: argparse.Namespace, prepared: Prepared, plan: Plan) -> None:
    print(f"workload   {prepared.recipe.label}, {prepared.program.n_blocks} blocks")
    print(f"schedule   {shown(plan)}")
    if plan.choice.schedule is not None and plan.choice.schedule.idle and not args.quiet:
        print(f"note       ranks idle, more than are useful: {plan.choice.schedule.idle}")
    if args.teacher is None and prepared.recipe.workload:
        print("warning    no --teacher: the teacher's weights are random")
    print(end="", flush=True)
