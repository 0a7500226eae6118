"""`compare`: the paper's Table 1 of a network: hypergraph against random over numbers of ranks."""

from __future__ import annotations

import argparse
from time import perf_counter
from typing import Any

from rich.console import Console

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json
from hpc.io.network import NetworkFile, open_network
from hpc.io.outputs import check_outputs
from hpc.report.figures import write_json
from partition.asked import Asked, check_asked
from partition.asked_options import add_asked, add_objective, asked_from, numbers_of_ranks
from partition.command import add_command
from partition.compare import Row, comparison_figures, comparison_table, row_of
from partition.compare_plot import check_picture, draw_comparison
from partition.watched import build_watched


def add_compare(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m partition`.
    """
    command = add_command(
        commands,
        "compare",
        compare,
        "print hypergraph against random plans of a network over numbers of ranks",
        "compare net.h5 --parts 2,4 --plot compare.png",
    )
    command.add_argument("network", help="network file")
    command.add_argument(
        "--parts", type=numbers_of_ranks, required=True, metavar="P,P...", help="ranks"
    )
    add_asked(command)
    add_objective(command)
    add_json(command)
    command.add_argument(
        "--plot",
        metavar="FILE",
        help="draw words and messages over P: .png, .svg or .pdf (needs relaycut[plot])",
    )


def compare(options: argparse.Namespace) -> None:
    """Cut the network for each number of ranks, and print the paper's Table 1.

    Parameters
    ----------
    options : argparse.Namespace
        Of the command line.

    Raises
    ------
    InputError : an option, the network or an output that cannot be used; --plot without matplotlib.
    """
    check_outputs(vars(options), ["json", "plot"])
    if options.plot:
        check_picture(options.plot)
    with open_network(options.network) as network:
        every = [asked_from(options, parts) for parts in options.parts]
        for asked in every:
            check_asked(asked, network.header)
        rows = [_row(network, asked, not options.quiet) for asked in every]
    console = Console()
    console.print(f"{options.network}: sent by a rank, forward, for one input", highlight=False)
    console.width = max(console.width, 100)
    console.print(comparison_table(rows))
    if options.json:
        write_json(options.json, with_config(options, comparison_figures(rows)))
    if options.plot:
        draw_comparison(rows, options.plot)


def _row(network: NetworkFile, asked: Asked, show: bool) -> Row:
    began = perf_counter()
    built = build_watched(network, asked, f"cutting for {asked.parts} ranks", show)
    return row_of(built.plan, perf_counter() - began)
