"""The option that all commands about jobs share."""

from __future__ import annotations

import argparse

OUTPUT = "runs"
"""Where logs and records of jobs lie."""


def add_output(parser: argparse.ArgumentParser) -> None:
    """Add --output.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a command about jobs.
    """
    parser.add_argument(
        "--output", default=OUTPUT, metavar="DIR", help=f"logs and records (default {OUTPUT})"
    )
