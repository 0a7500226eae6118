"""`slurm`: submit a command as a job."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from hpc.cli.shared_options import add_json
from hpc.cli.words import Words
from hpc.io.errors import InputError
from hpc.io.outputs import check_outputs
from hpc.report.figures import write_json
from launch.asked import asked_options
from launch.command import Command, alone, command_of
from launch.job import GPU_BINDINGS, Job
from launch.kept import check_checkpoints, check_outputs_differ
from launch.mpirun import BINDINGS
from launch.options import add_output
from launch.quoting import quoted_words
from launch.ranks import check_ranks
from launch.script import script
from launch.site import MPI, Site, read_site
from launch.submit import submission, submit_chain
from launch.sweep import parse_sweeps


def add_slurm(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m launch`.
    """
    parser = commands.add_parser(
        "slurm",
        help="submit as a job",
        examples=[
            "python -m launch slurm --nodes 2 --tasks-per-node 8 --time 02:00:00 --dry-run "
            "--before 'partition build net.h5 --parts 16 --out plan16.h5' -- "
            "spdnn infer net.h5 hpc/samples/challenge-1024.h5 --plan plan16.h5"
        ],
    )
    _add_size(parser)
    _add_queue(parser)
    _add_many(parser)
    add_output(parser)
    parser.add_argument("--dry-run", action="store_true", help="print the scripts only")
    add_json(parser, "what was submitted")
    parser.set_defaults(run=_run)


def _add_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--nodes", type=int, default=1, help="(default 1)")
    parser.add_argument("--tasks-per-node", type=int, default=1, help="ranks (default 1)")
    parser.add_argument("--threads", type=int, default=1, help="cores of a rank (default 1)")
    parser.add_argument("--gpus-per-task", type=int, default=0, help="(default none)")
    parser.add_argument(
        "--bind",
        type=Words(BINDINGS),
        default="core",
        metavar="|".join(BINDINGS),
        help="ranks to cores (default core)",
    )
    parser.add_argument(
        "--gpu-bind",
        type=Words(GPU_BINDINGS),
        default="own",
        metavar="|".join(GPU_BINDINGS),
        help="the GPUs that a rank sees: its own, or all of its node (default own)",
    )
    parser.add_argument(
        "--mpi",
        type=Words(MPI),
        metavar="|".join(MPI),
        help="who starts the ranks: srun for MPICH, for Open MPI, or mpirun in the job "
        "(default the site's, else srun-pmi2)",
    )


def _add_queue(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--site", metavar="FILE.toml", help="what this cluster asks of every job")
    parser.add_argument("--time", help="limit: minutes, HH:MM:SS or D-HH:MM:SS")
    for name in ("partition", "account", "qos"):
        parser.add_argument(f"--{name}", help="of SLURM (default the site's)")
    parser.add_argument("--name", help="of the job (default the command's)")
    parser.add_argument(
        "--signal", type=int, metavar="SECONDS", help="before the time limit send USR1 to the ranks"
    )
    parser.add_argument(
        "--requeue", action="store_true", help="queue a run again that stopped at a checkpoint"
    )


def _add_many(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--array", metavar="0-9", help="run once for each number, {task} in the command"
    )
    parser.add_argument(
        "--sweep",
        action="append",
        default=[],
        metavar="NAME=V,V",
        help="run once for each value, {NAME} in the command; of several, for all combinations",
    )
    parser.add_argument(
        "--after", action="append", default=[], metavar="JOBID", help="wait for its good end"
    )
    parser.add_argument(
        "--before",
        action="append",
        default=[],
        metavar="'COMMAND'",
        help="a tool that runs before, as a job of its own: 'partition build ...'",
    )


def _run(args: argparse.Namespace, words: Sequence[str]) -> None:
    command = command_of(words)
    befores = [alone(_split(text), "--before") for text in args.before]
    job = job_of(args, command, read_site(args.site) if args.site else Site())
    chain = [*(serial(job, before) for before in befores), job]
    for one in chain:
        check_words(one, "after --" if one is job else "--before")
    made = {word for before in befores for word in before.words}
    if command.on_ranks:
        check_ranks(command.words, job.ranks, made)
    if befores:
        chain[0] = replace(chain[0], after=job.after)
        chain[-1] = replace(job, after=())
    if args.dry_run:
        print(_dry(chain), end="")
        return
    check_outputs(vars(args), ["json"])
    submitted = submit_chain(chain)
    for record in submitted:
        wait = f", after {' '.join(record.after)}" if record.after else ""
        ranks = "1 rank" if record.ranks == 1 else f"{record.ranks} ranks"
        print(f"submitted {record.job}: {record.name}, {ranks}{wait}")
    if args.json:
        write_json(args.json, {"jobs": [asdict(record) for record in submitted]})


def check_words(job: Job, what: str = "after --") -> None:
    """Check that a job's command can be asked for, and does what is asked of the job.

    Parameters
    ----------
    job : Job
        Checked in itself.
    what : str
        Names the command in a message.

    Raises
    ------
    InputError : see `asked_options`, `check_checkpoints` and `check_outputs_differ`.
    """
    options = asked_options(job, what)
    check_checkpoints(job, options)
    check_outputs_differ(job, options)


def _split(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InputError(f"--before {text!r}: {error}") from error


def job_of(args: argparse.Namespace, command: Command, site: Site) -> Job:
    """Return the job that the command line asks for.

    Parameters
    ----------
    args : argparse.Namespace
        Of `python -m launch slurm`.
    command : Command
        What is to run.
    site : Site
        Stands in where the command line says nothing.

    Returns
    -------
    Job
        Checked in itself, not against its command's options: see `check_words`.

    Raises
    ------
    InputError : see `Job` and `parse_sweeps`.
    """
    return Job(
        command, site, args.nodes, args.tasks_per_node, args.threads, args.gpus_per_task, args.bind,
        args.gpu_bind, args.time, args.partition, args.account, args.qos, args.mpi or site.mpi,
        args.array, tuple(args.after), args.signal, args.requeue, args.name or command.name,
        args.output, parse_sweeps(args.sweep),
    )  # fmt: skip


def serial(job: Job, command: Command) -> Job:
    """Return the job of a tool that runs before `job`, in the same queue.

    Parameters
    ----------
    job : Job
        Gives site, threads, time limit, queue and folder.
    command : Command
        Of one process.

    Returns
    -------
    Job
        Of one rank on one node, waiting for none.
    """
    return Job(
        command, job.site, threads=job.threads, time=job.time, partition=job.partition,
        account=job.account, qos=job.qos, name=command.name, output=job.output,
    )  # fmt: skip


def _dry(chain: Sequence[Job]) -> str:
    """Return the scripts of a chain; of one job, its script as it is."""
    if len(chain) == 1:
        return script(chain[0])
    texts = []
    for place, job in enumerate(chain):
        after = [*job.after, *(["NUMBER_OF_THE_JOB_ABOVE"] if place else [])]
        texts.append(f"### {quoted_words(submission(after))}\n{script(job)}")
    return "\n".join(texts)
