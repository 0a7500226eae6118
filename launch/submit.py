"""Submit a chain of jobs, each after the one before it, and write down what was submitted."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from hpc.io.errors import InputError
from launch.job import Job
from launch.records import Record, write_record
from launch.script import script
from launch.slurm import ask


def submit_chain(jobs: Sequence[Job]) -> list[Record]:
    """Submit jobs; each waits until the one before has ended well.

    Parameters
    ----------
    jobs : sequence of Job
        In the order in which they are to run.

    Returns
    -------
    list of Record
        One for each job; also written beside the logs, with its script.

    Raises
    ------
    InputError : SLURM refuses one, or its folder cannot be made; those before it are cancelled.
    """
    done: list[Record] = []
    try:
        for job in jobs:
            before = [done[-1].job] if done else []
            done.append(_submit(job, [*job.after, *before]))
    except InputError:
        with contextlib.suppress(InputError):
            if done:
                ask(["scancel", *(record.job for record in done)])
        raise
    return done


def _submit(job: Job, after: list[str]) -> Record:
    folder = Path(job.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {folder}: {error.strerror}") from error
    text = script(job)
    number = ask(submission(after), text).strip().partition(";")[0]
    record = Record(
        number, job.name, list(job.command.words), job.ranks, job.nodes, job.tasks, after,
        datetime.now(UTC).isoformat(timespec="seconds"), os.getcwd(),
    )  # fmt: skip
    (folder / f"{number}.sh").write_bytes(os.fsencode(text))
    write_record(folder, record)
    return record


def submission(after: Sequence[str]) -> list[str]:
    """Return sbatch's words for a script on standard input.

    Parameters
    ----------
    after : sequence of str
        Numbers of the jobs that it waits for.

    Returns
    -------
    list of str
        With --parsable: sbatch prints the job's number.
    """
    waiting = [f"--dependency=afterok:{':'.join(after)}"] if after else []
    return ["sbatch", "--parsable", *waiting]
