"""Times as people write and read them."""

from __future__ import annotations

import re
from math import inf

SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float | None:
    """Return the seconds of '90s', '10m' or '1.5h'.

    Parameters
    ----------
    text : str
        What the user wrote.

    Returns
    -------
    float or None
        Above 0; None for anything else, or nothing at all.
    """
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip())
    if found is None:
        return None
    number, unit = found.groups()
    seconds = float(number) * SECONDS[unit]
    return seconds if 0 < seconds < inf else None


def precise(seconds: float) -> str:
    """Return a time with milliseconds where it is short: '3.142 s', '34 s', '12:05 min'.

    Parameters
    ----------
    seconds : 0 or more.

    Returns
    -------
    Number and unit.
    """
    return f"{seconds:.3f} s" if seconds < 10 else duration(seconds)


def duration(seconds: float) -> str:
    """Return a time as people read it: '34 s', '12:05 min', '3:07 h'.

    Parameters
    ----------
    seconds : float
        0 or more.

    Returns
    -------
    str
        Seconds below 100, then minutes, from an hour on hours and minutes.
    """
    whole = round(seconds)
    if whole < 100:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes}:{rest:02d} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d} h"
