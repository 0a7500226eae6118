"""`stats`: print what a plan costs."""

from __future__ import annotations

import argparse
from typing import Any

from rich.console import Console

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json
from hpc.io.outputs import check_outputs
from hpc.io.plan import read_plan
from hpc.report.figures import write_json
from partition.command import add_command
from partition.stats import costs_of, figures, print_table


def add_stats(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m partition`.
    """
    command = add_command(
        commands,
        "stats",
        stats,
        "print what a plan costs, against a random plan",
        "stats plan.h5 --json stats.json",
    )
    command.add_argument("plan", help="plan file")
    command.add_argument(
        "--layers", action="store_true", help="every layer, also of a long network"
    )
    add_json(
        command,
        "totals over layers, forward, per input: volume_words, messages, "
        "random_..., max_send_words (the largest rank's total), imbalance (the largest layer's)",
    )


def stats(options: argparse.Namespace) -> None:
    """Print what the plan costs.

    Parameters
    ----------
    options : argparse.Namespace
        Of the command line.

    Raises
    ------
    InputError : a plan that cannot be read or holds no traffic, an output that cannot be written.
    """
    check_outputs(vars(options), ["json"])
    costs = costs_of(read_plan(options.plan), options.plan)
    print_table(costs, Console(), options.layers)
    if options.json:
        write_json(options.json, with_config(options, figures(costs)))
