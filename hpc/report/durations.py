"""Times as people write them."""

from __future__ import annotations

import re
from math import inf

SECONDS = {"s": 1, "m": 60, "h": 3600}


def seconds_of(text: str) -> float | None:
    """Return the seconds of '90s', '10m' or '1.5h'; None for anything else, or nothing at all."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smh])", text.strip())
    if found is None:
        return None
    number, unit = found.groups()
    seconds = float(number) * SECONDS[unit]
    return seconds if 0 < seconds < inf else None
