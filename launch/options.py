"""A parser whose message on an unknown option lists the valid ones."""

from __future__ import annotations

from typing import NoReturn

from hpc.report.options import Parser

OUTPUT = "runs"
"""Where logs and records of jobs lie."""


class LaunchParser(Parser):
    """Raises InputError for bad usage."""

    def error(self, message: str) -> NoReturn:
        """Raise InputError with the message, and after an unknown option the valid ones."""
        if message.startswith("unrecognized arguments"):
            valid = (name for action in self._actions for name in action.option_strings[-1:])
            message += f"; valid options: {' '.join(valid)}"
        super().error(message)


def add_output(parser: LaunchParser) -> None:
    """Add --output."""
    parser.add_argument(
        "--output", default=OUTPUT, metavar="DIR", help=f"logs and records (default {OUTPUT})"
    )
