"""Submit a chain of jobs, each after the one before it, and write down what was submitted."""

from __future__ import annotations

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
    InputError : SLURM refuses one, its folder cannot be made or written to; all that were
        submitted are cancelled, as they are when a signal ends the program.
    """
    numbers: list[str] = []
    done: list[Record] = []
    try:
        for job in jobs:
            text, after = script(job), [*job.after, *numbers[-1:]]
            folder = _folder(job)
            numbers.append(ask(submission(after), text).strip().partition(";")[0])
            done.append(_written_down(folder, job, numbers[-1], after, text))
    except BaseException as error:
        cancelled = _cancelled(numbers)
        if isinstance(error, InputError):
            raise InputError(f"{error}{cancelled}") from error
        raise
    return done


def _folder(job: Job) -> Path:
    folder = Path(job.output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {folder}: {error.strerror}") from error
    return folder


def _written_down(folder: Path, job: Job, number: str, after: list[str], text: str) -> Record:
    """Write a submitted job's script and record into its folder."""
    try:
        record = Record(
            number, job.name, list(job.command.words), job.ranks, job.nodes, job.tasks, after,
            datetime.now(UTC).isoformat(timespec="seconds"), os.getcwd(),
        )  # fmt: skip
        (folder / f"{number}.sh").write_bytes(os.fsencode(text))
        write_record(folder, record)
    except OSError as error:
        raise InputError(f"--output {folder}: {error.strerror}") from error
    return record


def _cancelled(numbers: Sequence[str]) -> str:
    """Cancel jobs; return what to say of them, nothing where there are none."""
    if not numbers:
        return ""
    named = " ".join(numbers)
    try:
        ask(["scancel", *numbers])
    except InputError as error:
        return f"; submitted and not cancelled: {named} ({error})"
    return f"; submitted and cancelled: {named}"


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
