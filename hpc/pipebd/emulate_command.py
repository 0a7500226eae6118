"""`pipebd train --emulate`: a profile in; what a schedule takes, without computing anything."""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

from mpi4py import MPI

from hpc.cli.config import with_config
from hpc.comm.buffers import Transport
from hpc.comm.waiting import Sleeping
from hpc.comm.world import owned, together
from hpc.io.errors import InputError
from hpc.pipebd.cost import cost_table
from hpc.pipebd.emulation import EmulatedProgram
from hpc.pipebd.execution import Job, NoHooks, Times, execute
from hpc.pipebd.outlook import Plan, shown
from hpc.pipebd.planning import plan_run
from hpc.pipebd.profile_data import Profile
from hpc.pipebd.profile_file import read_profile
from hpc.pipebd.recorder import Tally
from hpc.pipebd.relayed import relayed_figures
from hpc.pipebd.rounds import Epoch, run_rounds
from hpc.pipebd.session import check_options, kept_record
from hpc.pipebd.standing_spans import watched_job
from hpc.pipebd.tracing import gather_kinds, gather_trace
from hpc.report.figures import write_json
from hpc.report.predicted import predicted_table
from hpc.report.record import Record
from hpc.report.run_folder import TRAFFIC
from hpc.report.stall_option import stall_seconds
from hpc.report.trace import SpanLog, write_trace

STEPS = 100
"""Steps emulated unless --steps says otherwise."""
WARM_UP = 5
"""Steps before: connections between ranks are made when first used."""
UNUSED = ("data", "blocks", "teacher", "out", "architecture_out", "profile", "checkpoint")
"""Options of a real training that an emulation has no use for."""


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective over `world`.

    Parameters
    ----------
    args : argparse.Namespace
        The options of `train`, the same on all ranks; `emulate` names the profile.
    world : MPI.Comm
        Of the job; duplicated. Its ranks sleep.

    Returns
    -------
    int
        Exit code: 0.

    Raises
    ------
    AgreedError : on all ranks: options, a profile or a schedule that cannot be used.
    InputError : on the first rank alone: a file cannot be written any more at the end.
    """
    with owned(world) as comm:
        with together(comm):
            check_options(args, comm)
            profile = _profile(args, comm.size)
            stall_s = stall_seconds(args)
        with kept_record(args, comm) as record:
            _emulate(args, comm, profile, stall_s, record)
    return 0


def _emulate(
    args: argparse.Namespace,
    comm: MPI.Comm,
    profile: Profile,
    stall_s: float | None,
    record: Record,
) -> None:
    """Choose the schedule, run it, report. Collective."""
    n_blocks = len(profile.blocks)
    plan = plan_run(comm, args.schedule, n_blocks, profile.batch, profile, measure=lambda: profile)
    if comm.rank == 0:
        print(f"emulated   {args.emulate} on {comm.size} ranks that sleep")
        print(f"schedule   {shown(plan)}", flush=True)
    log = SpanLog(comm.rank)
    tally = Tally(log)
    record.gauges.waited_s = tally.waiting_s
    times = _execute(args, comm, profile, plan, tally, stall_s, record)
    _report(args, comm, profile, plan, times, log, tally, record)


def _profile(args: argparse.Namespace, n_ranks: int) -> Profile:
    """Return the profile with an entry for every rank.

    Raises
    ------
    InputError : see `profile_file.read_profile`; another workload; options without a use here.
    """
    given = [name for name in UNUSED if getattr(args, name) is not None]
    if given:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in given)
        raise InputError(f"--emulate trains nothing: leave out {options}")
    profile = read_profile(args.emulate)
    known = profile.workload.split()[:1]
    if args.workload and known and args.workload != known[0]:
        raise InputError(
            f"{args.emulate}: profile of workload {profile.workload!r}, not {args.workload!r}"
        )
    return profile.for_ranks(n_ranks)


def _execute(
    args: argparse.Namespace,
    comm: MPI.Comm,
    profile: Profile,
    plan: Plan,
    tally: Tally,
    stall_s: float | None,
    record: Record,
) -> Times:
    """Run a few steps to warm up, then those that count. Collective."""
    transport = Transport("host", waiting=Sleeping())
    program = EmulatedProgram(profile, comm.rank, transport.poll)
    warm_up = Job(
        comm, plan.choice, program, transport, _epochs(profile, WARM_UP), plan.packing, args.queue
    )
    counted = replace(warm_up, epochs=_epochs(profile, args.steps or STEPS), tally=tally)
    with watched_job(warm_up, stall_s):
        execute(warm_up, NoHooks())
    course = ("images", profile.batch) if plan.choice.schedule is not None else ("rounds", 1)
    with (
        record.watch("emulate", counted.rounds, *course) as counted.advance,
        watched_job(counted, stall_s),
    ):
        return execute(counted, NoHooks())


def _epochs(profile: Profile, steps: int) -> list[Epoch]:
    """Return one epoch of so many steps, with architecture rounds if the profile has any."""
    every = profile.architecture_every
    due = None if every is None else lambda epoch, step, epochs: (step + 1) % every == 0
    return run_rounds(1, steps, due)


def _report(
    args: argparse.Namespace,
    comm: MPI.Comm,
    profile: Profile,
    plan: Plan,
    times: Times,
    log: SpanLog,
    tally: Tally,
    record: Record,
) -> None:
    """Print predicted against measured and write what was asked for. Collective."""
    predicted = plan.prediction
    assert predicted is not None
    figures = {
        "command": "pipebd train --emulate",
        "schedule": shown(plan) if plan.choice.schedule is None else str(plan.choice.schedule),
        "asked": args.schedule,
        "ranks": comm.size,
        "batch": profile.batch,
        "steps": times.steps,
        "step_s": times.step_s,
        "idle": list(times.idle),
        "predicted_step_s": predicted.step_s,
        "predicted_idle": list(predicted.idle),
        "compute_s": compute_s(profile, plan),
        "kinds_s": gather_kinds(comm, tally),
    }
    if args.trace or args.run_folder:
        trace = gather_trace(comm, log, figures)
        if trace is not None:
            record.trace(trace)
            if args.trace:
                write_trace(args.trace, trace)
    if comm.rank == 0:
        print(predicted_table((predicted.step_s, times.step_s), (predicted.idle, times.idle)))
        figures = with_config(args, figures)
        record.figures(figures)
        if plan.choice.schedule is not None:
            program = EmulatedProgram(profile, comm.rank, lambda: None)
            sent = relayed_figures(plan.choice.schedule, comm.size, profile.batch, program.boundary)
            record.put(TRAFFIC, sent)
        if args.json:
            write_json(args.json, figures)


def compute_s(profile: Profile, plan: Plan) -> float | None:
    """Return the slowest group's seconds of teachers and students alone; None for baselines.

    Parameters
    ----------
    profile : Profile
        With an entry for each rank of the job.
    plan : Plan
        Of the run.

    Returns
    -------
    float or None
        Seconds of a step.
    """
    schedule: Any = plan.choice.schedule
    if schedule is None:
        return None
    table = cost_table(profile, len(profile.ranks))
    work = table.teacher + table.student
    return max(
        float(
            work[group.blocks.start : group.blocks.stop, group.size - 1].sum()
            / table.speed[group.ranks.start : group.ranks.stop].min()
        )
        for group in schedule.groups
    )
