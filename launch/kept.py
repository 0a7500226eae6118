"""Whether what a job keeps is kept: checkpoints to go on from, a file of its own for each task."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hpc.io.errors import InputError
from launch.job import Job, array_tasks
from launch.sweep import INDEX, filled

CHECKPOINT = "--checkpoint"
OUTPUTS = (
    "--out", CHECKPOINT, "--run", "--json", "--log", "--architecture-out", "--trace",
    "--tensorboard", "--plot", "--to", "--html", "--png", "--svg",
)  # fmt: skip
"""Options of all commands that name what is written."""


def check_checkpoints(job: Job, options: argparse.Namespace | None) -> None:
    """Check that a run which is to stop at a checkpoint keeps one.

    Parameters
    ----------
    job : Job
        Only with `signal` or `requeue` is anything checked.
    options : argparse.Namespace or None
        Of the command; None where they are not known.

    Raises
    ------
    InputError : --signal or --requeue, and it keeps none.
    """
    asked = [
        name
        for name, given in (("--signal", job.signal is not None), ("--requeue", job.requeue))
        if given
    ]
    if not asked or _last(CHECKPOINT, job.command.words) or getattr(options, "checkpoint", None):
        return
    name = " ".join(job.command.words[:2])
    can = job.command.on_ranks if options is None else hasattr(options, "checkpoint")
    wrong = " and ".join(asked)
    if can:
        raise InputError(f"{wrong}: {name} keeps no checkpoint; add --checkpoint DIR to it")
    raise InputError(f"{wrong}: {name} can keep no checkpoint to stop at; leave {wrong} away")


def check_outputs_differ(job: Job, options: argparse.Namespace | None) -> None:
    """Check that the tasks of an array write no file of each other's.

    Parameters
    ----------
    job : Job
        Only with two tasks or more is anything checked.
    options : argparse.Namespace or None
        Of the command; those that a config file sets are the same in every task. None where they
        are not known.

    Raises
    ------
    InputError : two tasks have the same value of one of OUTPUTS.
    """
    tasks = sorted(set(array_tasks(job.tasks))) if job.tasks else []
    if len(tasks) < 2:
        return
    stored = getattr(options, "in_force", {})
    for option in OUTPUTS:
        value = _last(option, job.command.words) or stored.get(option[2:])
        if value is None:
            continue
        seen: dict[str, int] = {}
        for task in tasks:
            first = seen.setdefault(filled(str(value), job.values(task)), task)
            if first != task:
                raise InputError(
                    f"{option} {value}: tasks {first} and {task} would write the same; put "
                    f"{_missing(job, tasks, str(value))} into it"
                )


def _missing(job: Job, tasks: Sequence[int], value: str) -> str:
    """Return the names, in braces, of what varies and is not in the value."""
    varied = [name for name, each in job.sweep.items() if len({each[task] for task in tasks}) > 1]
    missing = [f"{{{name}}}" for name in varied if f"{{{name}}}" not in value]
    every = f"{{{INDEX}}}"
    return f"{' and '.join(missing)}, or {every}," if missing else every


def _last(option: str, words: Sequence[str]) -> str | None:
    """Return what an option is given last, as the command takes it."""
    found = None
    for place, word in enumerate(words):
        name, equals, value = word.partition("=")
        if name == option:
            found = value if equals else next(iter(words[place + 1 :]), None)
    return found
