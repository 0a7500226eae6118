"""A job of SLURM: its options, checked. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hpc.io.errors import InputError
from launch.command import Command
from launch.counts import MOST, check_count
from launch.mpirun import BINDINGS
from launch.quoting import check_line, check_name
from launch.site import MPI, Site
from launch.sweep import INDEX, check_used
from launch.time_limit import limit_s

GPU_BINDINGS = ("own", "all")
"""A rank sees its own GPUs, or all of its node, of which the engine takes one."""
RANGE = r"(\d{1,9})(?:-(\d{1,9})(?::(\d{1,9}))?)?"
MOST_SIGNAL_S = 65535
"""SLURM's limit."""


@dataclass(frozen=True)
class Job:
    """What is asked of SLURM for a command.

    nodes, tasks_per_node, threads (of a rank), gpus_per_task : numbers; the last may be 0.
    time, partition, account, qos, array : as SLURM takes them, or None.
    signal : seconds before the time limit at which the ranks get USR1, or None.
    requeue : whether a run that stopped at a checkpoint is queued again.
    sweep : see `sweep.parse_sweeps`. output : folder of logs and records.
    """

    command: Command
    site: Site = field(default_factory=Site)
    nodes: int = 1
    tasks_per_node: int = 1
    threads: int = 1
    gpus_per_task: int = 0
    bind: str = "core"
    gpu_bind: str = "own"
    time: str | None = None
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    mpi: str = MPI[0]
    array: str | None = None
    after: tuple[str, ...] = ()
    signal: int | None = None
    requeue: bool = False
    name: str = "relaycut"
    output: str = "runs"
    sweep: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_choices(self)
        for name in ("partition", "account", "qos", "name"):
            if getattr(self, name) is not None:
                check_name(f"--{name}", getattr(self, name))
        _check_time(self)
        for job in self.after:
            if not re.fullmatch(r"\d+(_\d+)?", job, re.ASCII):
                raise InputError(f"--after {job!r}: expected a job's number")
        _check_output(self.output)
        check_used(self.sweep, self.command.words)
        if self.array is not None:
            _check_tasks(array_tasks(self.array), self.sweep, self.array)

    @property
    def ranks(self) -> int:
        """Ranks of the job, or of each task of an array."""
        return self.nodes * self.tasks_per_node

    @property
    def folder(self) -> str:
        """The output folder, in a form that no program takes for an option."""
        return f"./{self.output}" if self.output.startswith("-") else self.output

    @property
    def tasks(self) -> str | None:
        """The array, as SLURM takes it; None for a single run."""
        if self.array is None and self.sweep:
            return f"0-{len(next(iter(self.sweep.values()))) - 1}"
        return self.array

    def values(self, task: int) -> dict[str, str]:
        """Return what stands for each name in braces in a task of the array.

        Parameters
        ----------
        task : int
            A number of the array; with a sweep, below its number of tasks.

        Returns
        -------
        dict of str to str
            INDEX, and each name of the sweep.
        """
        return {INDEX: str(task)} | {name: each[task] for name, each in self.sweep.items()}


def _check_numbers(job: Job) -> None:
    for name, least in (("nodes", 1), ("tasks_per_node", 1), ("threads", 1), ("gpus_per_task", 0)):
        check_count(f"--{name.replace('_', '-')}", getattr(job, name), least)
    if job.ranks > MOST:
        raise InputError(
            f"--nodes {job.nodes} of --tasks-per-node {job.tasks_per_node}: {job.ranks} ranks, "
            f"expected at most {MOST}"
        )
    if job.signal is not None and not 1 <= job.signal <= MOST_SIGNAL_S:
        raise InputError(f"--signal {job.signal}: expected 1..{MOST_SIGNAL_S} seconds")
    if job.ranks > 1 and not job.command.on_ranks:
        name = " ".join(job.command.words[:2])
        raise InputError(f"{name} is of one process, the job has {job.ranks}")


def _check_time(job: Job) -> None:
    limit = 0 if job.time is None else limit_s(job.time)
    if job.signal is not None and limit and job.signal >= limit:
        raise InputError(
            f"--signal {job.signal} with --time {job.time}: the limit is {limit} s, expected a "
            "signal later than the start"
        )


def _check_choices(job: Job) -> None:
    choices = (("mpi", MPI), ("bind", BINDINGS), ("gpu_bind", GPU_BINDINGS))
    for name, valid in choices:
        if getattr(job, name) not in valid:
            option = name.replace("_", "-")
            found = getattr(job, name)
            raise InputError(f"--{option} {found!r}: expected one of {', '.join(valid)}")


def _check_output(folder: str) -> None:
    check_line("--output", folder)
    for letter in "%\\":
        if letter in folder:
            raise InputError(f"--output {folder!r}: SLURM gives {letter} in it a meaning")


def array_tasks(text: str) -> list[int]:
    """Return the numbers of an array such as '0-9', '1,3,7', '0-8:2' or '0-9%2'.

    Parameters
    ----------
    text : str
        As sbatch's --array takes it; what stands after % is checked and left out.

    Returns
    -------
    list of int
        In the order given; a number that is given twice is there twice.

    Raises
    ------
    InputError : another form, an empty range, a number of 2^22 or more.
    """
    found: list[int] = []
    ranges, percent, at_once = text.partition("%")
    for one in ranges.split(","):
        match = re.fullmatch(RANGE, one, re.ASCII)
        if not match or (percent and not re.fullmatch(r"[1-9]\d*", at_once, re.ASCII)):
            raise InputError(f"--array {text!r}: expected such as 0-9, 1,3,7, 0-8:2 or 0-9%2")
        first, last, step = int(match[1]), int(match[2] or match[1]), int(match[3] or 1)
        if last < first or step < 1 or last >= 1 << 22:
            raise InputError(f"--array {text!r}: {one} is no range of tasks")
        found += range(first, last + 1, step)
    return found


def _check_tasks(tasks: Sequence[int], sweep: Mapping[str, Sequence[str]], array: str) -> None:
    n_tasks = len(next(iter(sweep.values()))) if sweep else None
    if n_tasks is not None and max(tasks) >= n_tasks:
        raise InputError(f"--array {array!r}: the sweep has tasks 0..{n_tasks - 1}")
