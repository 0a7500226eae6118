"""Command line options that all commands of the engines share."""

from __future__ import annotations

import argparse

from hpc.cli.shared_options import add_json, add_seed
from hpc.report.watch_options import add_watching


def add_common(parser: argparse.ArgumentParser) -> None:
    """Add --json, --seed and what `add_watching` adds.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of a command of the engines.
    """
    add_json(parser)
    add_seed(parser)
    add_watching(parser)
