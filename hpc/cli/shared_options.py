"""Options that mean the same in every tool."""

from __future__ import annotations

import argparse

MOST_SEEDS = 1 << 31


def seed(text: str) -> int:
    """Return a seed: 0..2³¹−1."""
    value = int(text)
    if not 0 <= value < MOST_SEEDS:
        raise ValueError
    return value


def add_json(parser: argparse._ActionsContainer, what: str = "the figures") -> None:
    """Add --json."""
    parser.add_argument("--json", metavar="FILE", help=f"write {what} there")


def add_seed(parser: argparse._ActionsContainer, what: str = "of every random draw") -> None:
    """Add --seed."""
    parser.add_argument(
        "--seed", type=seed, default=0, metavar="S", help=f"{what}; same seed, same result "
        "(default 0)",
    )  # fmt: skip


def add_quiet(parser: argparse._ActionsContainer, what: str = "no progress") -> None:
    """Add --quiet.

    Parameters
    ----------
    parser : of the command.
    what : it does, for --help.
    """
    parser.add_argument("--quiet", action="store_true", help=what)
