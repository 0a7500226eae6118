"""Command line options that all commands share, and a parser that raises instead of exiting."""

from __future__ import annotations

import argparse
from typing import NoReturn

from hpc.io.errors import InputError
from hpc.report.watch_options import add_watching


class Parser(argparse.ArgumentParser):
    """Raises InputError for bad usage, so that of many ranks one prints it."""

    def __init__(self, **options: object) -> None:
        super().__init__(allow_abbrev=False, **options)  # type: ignore[arg-type]
        self.set_defaults(run=None, run_alone=None, any_launcher=False)

    def error(self, message: str) -> NoReturn:
        """Raise InputError with the message and where to read more."""
        raise InputError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args=None, namespace=None):  # type: ignore[no-untyped-def]
        """Parse; refuse unknown options here, where the help that lists the valid ones is."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}")
        return found, unknown


def seed(text: str) -> int:
    """Return a seed: 0..2³¹−1."""
    value = int(text)
    if not 0 <= value < 1 << 31:
        raise ValueError
    return value


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add --json, --seed and what `add_watching` adds."""
    parser.add_argument("--json", metavar="FILE", help="write the figures there")
    parser.add_argument("--seed", type=seed, default=0, help="of every random draw (default 0)")
    add_watching(parser)
