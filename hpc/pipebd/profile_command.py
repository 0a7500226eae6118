"""`pipebd profile`: a workload and images in, a profile out."""

from __future__ import annotations

import argparse

from mpi4py import MPI

from hpc.cli.config import with_config
from hpc.comm.world import together
from hpc.pipebd.cost import readable_bytes
from hpc.pipebd.measuring import measure_prepared
from hpc.pipebd.preparation import TrainingOptions, prepare
from hpc.pipebd.profile_data import BlockProfile, Profile
from hpc.pipebd.profile_file import as_json, write_profile
from hpc.pipebd.session import kept_record, recipe_of, session
from hpc.report.figures import table, write_json


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective over `world`.

    Parameters
    ----------
    args : argparse.Namespace
        The options, the same on all ranks.
    world : MPI.Comm
        Of the job; duplicated. The profile has an entry for each of its ranks.

    Returns
    -------
    int
        Exit code: 0.

    Raises
    ------
    AgreedError : on all ranks: options, files or blocks that cannot be used.
    InputError : on the first rank alone: the file cannot be written any more at the end.
    """
    with session(args, world) as here:
        with together(here.comm):
            options = TrainingOptions(args.batch)
            prepared = prepare(recipe_of(args, here.file), options, here.file, here.device)
        with kept_record(args, here.comm) as record:
            profile = measure_prepared(here, prepared, args.steps, record)
            if here.first:
                write_profile(args.out, profile)
                print(summary(profile))
                print(f"written    {args.out}")
                figures = {"command": "pipebd profile", **as_json(profile)}
                figures = with_config(args, figures)
                record.figures(figures)
                if args.json:
                    write_json(args.json, figures)
    return 0


def summary(profile: Profile) -> str:
    """Return a profile as a table: every block at the whole batch and at the smallest share.

    Parameters
    ----------
    profile : Profile
        As measured.

    Returns
    -------
    str
        Milliseconds, readable bytes, relative speeds; several lines.
    """
    shares = sorted(profile.blocks[0].teacher_s)
    rows = [
        (
            block.name,
            *(_ms(block, share) for share in (shares[-1], shares[0])),
            _memory(block, shares[-1]),
            f"{1e3 * relay_s:.2f}",
        )
        for block, relay_s in zip(profile.blocks, profile.relay_s, strict=True)
    ]
    times = (f"teacher + student at {share}" for share in (shares[-1], shares[0]))
    speeds = ", ".join(f"{rank.speed:g}" for rank in profile.ranks)
    lines = [
        table(("block, ms", *times, "memory", "relay"), rows),
        f"loading    {1e3 * profile.load_s:.2f} ms a batch of {profile.batch}",
        f"speeds     {speeds}",
    ]
    return "\n".join(lines)


def _ms(block: BlockProfile, share: int) -> str:
    teacher_s, student_s = block.teacher_s[share], block.student_s[share]
    if teacher_s is None or student_s is None:
        return "does not fit"
    return f"{1e3 * teacher_s:.2f} + {1e3 * student_s:.2f}"


def _memory(block: BlockProfile, share: int) -> str:
    bytes_needed = block.memory_bytes[share]
    return "-" if bytes_needed is None else readable_bytes(bytes_needed)
