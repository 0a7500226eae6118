"""What is known of submitted jobs: a small JSON file for each, in the folder of its logs."""

from __future__ import annotations

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from hpc.io.errors import FormatError, InputError
from hpc.report.figures import write_json

FORMAT, VERSION = "relaycut-job", 1


@dataclass(frozen=True)
class Record:
    """A submitted job.

    job : its number. ranks : of the job or of each task. array : or None. after : numbers of
    jobs that it waits for. submitted : UTC, ISO 8601. cwd : where it was submitted.
    """

    job: str
    name: str
    command: list[str]
    ranks: int
    nodes: int
    array: str | None
    after: list[str]
    submitted: str
    cwd: str


def write_record(folder: str | os.PathLike[str], record: Record) -> None:
    """Write a job's record into the folder, aside and renamed.

    Parameters
    ----------
    folder : str or os.PathLike
        That of its logs; must be there.
    record : Record
        Written as ``NUMBER.json``.

    Raises
    ------
    InputError : it cannot be written.
    """
    figures = {"format": FORMAT, "version": VERSION, **asdict(record)}
    write_json(Path(folder) / f"{record.job}.json", figures)


def read_record(path: Path) -> Record:
    """Read a record.

    Parameters
    ----------
    path : Path
        File of `write_record`.

    Returns
    -------
    Record
        What was known when the job was submitted.

    Raises
    ------
    FormatError : missing, or not a record of this version.
    """
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        if values.pop("format") != FORMAT or values.pop("version") != VERSION:
            raise FormatError(f"{path}: not a {FORMAT} of version {VERSION}")
        return Record(**values)
    except FileNotFoundError as error:
        raise FormatError(f"{path}: no such job was submitted with this --output") from error
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(f"{path}: not a {FORMAT}") from error


def records(folder: str | os.PathLike[str], jobs: list[str] | None = None) -> list[Record]:
    """Return the records of some jobs, or of all in a folder, oldest first.

    Parameters
    ----------
    folder : str or os.PathLike
        Of logs and records.
    jobs : list of str or None
        Numbers, or ``NUMBER_TASK``; all in the folder where None or empty.

    Returns
    -------
    list of Record
        One for each job, by ascending number.

    Raises
    ------
    InputError : no such folder, no such job, no number.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"--output {folder}: no such folder; nothing was submitted here")
    for job in jobs or ():
        if not re.fullmatch(r"\d+(_\d+)?", job, re.ASCII):
            raise InputError(f"{job!r}: expected a job's number")
    asked = dict.fromkeys(job.partition("_")[0] for job in jobs or ())
    paths = [root / f"{job}.json" for job in asked] if jobs else root.glob("[0-9]*.json")
    return sorted(map(read_record, paths), key=lambda one: int(one.job))
