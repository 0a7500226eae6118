"""Command line options that all commands share, and a parser that raises instead of exiting."""

from __future__ import annotations

import argparse
from typing import NoReturn

from hpc.io.errors import InputError


class Parser(argparse.ArgumentParser):
    """Raises InputError for bad usage, so that of many ranks one prints it."""

    def __init__(self, **options: object) -> None:
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]
        self.set_defaults(run=None, run_alone=None)

    def error(self, message: str) -> NoReturn:
        """Raise InputError with the message and where to read more."""
        raise InputError(f"{message} (see {self.prog} --help)")


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add --json, --seed and --quiet."""
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--seed", type=int, default=0, help="of every random draw (default 0)")
    parser.add_argument("--quiet", action="store_true", help="no progress")
