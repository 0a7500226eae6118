"""What the words after ``--`` ask for, read by the command's own parser before it is queued."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from hpc.cli.config import parse
from hpc.io.errors import InputError
from launch.command import ENGINES
from launch.job import Job, array_tasks
from launch.sweep import filled

MOST_READ = 100
"""Tasks of a sweep whose words are read; more would take seconds."""


def asked_options(job: Job, what: str = "after --") -> argparse.Namespace | None:
    """Return the options of the job's command, of an array those of its first task.

    Of an array, up to MOST_READ tasks in which a value is new are read.

    Parameters
    ----------
    job : Job
        Checked; the names of its sweep are filled in.
    what : str
        Names the command in a message.

    Returns
    -------
    argparse.Namespace or None
        None where they cannot be known: of `datasets`, which may be no package; of --help; and
        where the site's own Python, perhaps of another version, is to take words that ours does
        not.

    Raises
    ------
    InputError : an option or a value that the command does not have.
    """
    try:
        found = [
            _parsed([filled(word, values) if values else word for word in job.command.words])
            for values in islice(_telling_tasks(job), MOST_READ)
        ]
    except InputError as error:
        if job.site.python or job.site.container:
            return None
        raise InputError(f"{what}: {error}") from error
    return found[0]


def _telling_tasks(job: Job) -> Iterator[Mapping[str, str]]:
    """Yield the values of the first task, and of each in which a value of a sweep is new."""
    seen: set[tuple[str, str]] = set()
    if job.tasks is None:
        yield {}
        return
    for place, task in enumerate(array_tasks(job.tasks)):
        values = job.values(task)
        new = {(name, values[name]) for name in job.sweep} - seen
        if new or not place:
            yield values
        seen |= new


def _parsed(words: Sequence[str]) -> argparse.Namespace | None:
    parser = _parser(words[0])
    if parser is None:
        return None
    own = words if words[0] in ENGINES else words[1:]
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return parse(parser, own)
    except SystemExit:  # of --help and --version
        return None


def _parser(first: str) -> argparse.ArgumentParser | None:
    """Return the parser of a program; those that are not asked for need not be imported."""
    if first in ENGINES:
        from hpc.command_line import build_parser as engines

        return engines()
    if first == "partition":
        from partition.cli import build_parser as partition

        return partition()
    return None
