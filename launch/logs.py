"""What submitted jobs print, all of it or as it comes."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

from hpc.io.errors import InputError
from launch.job import array_tasks
from launch.records import Record
from launch.status import all_left, states

POLL_S = 0.5
ASK_EVERY_S = 3.0
"""SLURM is asked now and then, and where the scripts have left their exit codes."""


def log_paths(record: Record, folder: str | Path, job: str) -> list[Path]:
    """Return where a job writes; of an array, all of its tasks, or the one that `job` names.

    Parameters
    ----------
    record : Record
        Of the job.
    folder : str or Path
        Of logs and records.
    job : str
        Its number, or ``NUMBER_TASK``.

    Returns
    -------
    list of Path
        One for each task; the files need not be there.

    Raises
    ------
    InputError : the job has no such task.
    """
    root, task = Path(folder), job.partition("_")[2]
    if record.array is None:
        if task:
            raise InputError(f"{job}: {record.job} is no array")
        return [root / f"{record.job}.out"]
    tasks = array_tasks(record.array)
    if task and int(task) not in tasks:
        raise InputError(f"{job}: {record.job} has the tasks {record.array}")
    return [root / f"{record.job}_{one}.out" for one in ([int(task)] if task else tasks)]


class Tail:
    """Files that grow, read from where the last look ended; a heading where the file changes.

    Parameters
    ----------
    paths : list of Path
        Files that need not be there yet.
    """

    def __init__(self, paths: list[Path]) -> None:
        self._read = dict.fromkeys(paths, 0)
        self._last: Path | None = None

    def look(self) -> Iterator[bytes]:
        """Yield what has come since the last look.

        Yields
        ------
        bytes
            Of one file after another, with a heading where there are several and the file changes.
        """
        for path, start in self._read.items():
            try:
                with open(path, "rb") as file:
                    file.seek(start)
                    new = file.read()
            except FileNotFoundError:
                continue
            if new:
                self._read[path] = start + len(new)
                if len(self._read) > 1 and path != self._last:
                    yield os.fsencode(f"==> {path} <==\n")
                self._last = path
                yield new


def follow(record: Record, folder: str | Path, tail: Tail) -> Iterator[bytes]:
    """Yield what the job prints until it has ended.

    Parameters
    ----------
    record : Record
        Of the job.
    folder : str or Path
        Of logs and records.
    tail : Tail
        Of the job's logs.

    Yields
    ------
    bytes
        As they come; waits in between.

    Raises
    ------
    InputError : SLURM cannot be asked.
    """
    asked, ended = 0.0, False
    while not ended:
        wait = POLL_S if all_left(record, folder) else ASK_EVERY_S
        if time.monotonic() - asked >= wait:
            ended = all(state.ended for state in states(record, folder))
            asked = time.monotonic()
        yield from tail.look()
        if not ended:
            time.sleep(POLL_S)
