"""Kinds of work: in which order and colour they are shown, and what a run took of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KINDS = {
    "compute": 0, "pack": 1, "merge": 3, "read": 2, "wait": -1,
    "teacher": 6, "student": 0, "update": 3, "reduce": 1, "validate": 4, "load": 2,
    "receive": -1, "send": -2, "barrier": -3,
}  # fmt: skip
"""Kinds of work in the order in which they are stacked, and their colours; greys are waiting."""
WAITING = tuple(kind for kind, colour in KINDS.items() if colour < 0)


def kinds_of(figures: Mapping[str, Any]) -> dict[str, list[float]]:
    """Return the seconds of each kind by rank; of kinds that took any time, in KINDS' order.

    Parameters
    ----------
    figures : mapping of str to Any
        Of the run.

    Returns
    -------
    dict of str to list of float
        Seconds by rank; empty where they are not known.
    """
    found = figures.get("kinds_s") or {
        kind: figures[f"{kind}_s"] for kind in KINDS if isinstance(figures.get(f"{kind}_s"), list)
    }
    return {kind: list(found[kind]) for kind in KINDS if kind in found and any(found[kind])}
