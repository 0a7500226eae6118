"""A time limit as SLURM takes it. Pure."""

from __future__ import annotations

import re

from hpc.io.errors import InputError
from launch.counts import MOST

DAYS_FIRST = re.compile(r"(\d+)-(\d+)(?::(\d\d))?(?::(\d\d))?", re.ASCII)
MINUTES_FIRST = re.compile(r"(?:(\d+):(?=\d\d:))?(\d+)(?::(\d\d))?", re.ASCII)
"""Days and hours; hours before minutes and seconds, or minutes first."""


def limit_s(text: str) -> int:
    """Return the seconds of a limit such as '90', '90:00', '02:00:00', '1-12' or '1-12:30:00'.

    Zero is no limit at all.

    Parameters
    ----------
    text : str
        As sbatch's --time takes it: minutes, MM:SS, HH:MM:SS, D-HH, D-HH:MM or D-HH:MM:SS.

    Returns
    -------
    int
        Seconds.

    Raises
    ------
    InputError : another form, or more minutes than SLURM can count.
    """
    days = DAYS_FIRST.fullmatch(text)
    match = days or MINUTES_FIRST.fullmatch(text)
    if match is None:
        raise InputError(f"--time {text!r}: expected minutes, HH:MM:SS or D-HH:MM:SS")
    if max(map(len, filter(None, match.groups()))) > len(str(MOST)):
        raise InputError(f"--time {text}: expected at most {MOST} minutes")
    found = [int(one or 0) for one in match.groups()]
    weights = (86400, 3600, 60, 1) if days else (3600, 60, 1)
    seconds = sum(one * weight for one, weight in zip(found, weights, strict=True))
    if seconds > MOST * 60:
        raise InputError(f"--time {text}: expected at most {MOST} minutes")
    return seconds
