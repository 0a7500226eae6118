"""`build`: cut a network file and write the plan."""

from __future__ import annotations

import argparse
import sys
from time import perf_counter
from typing import Any

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json
from hpc.cli.words import Words
from hpc.io.network import open_network
from hpc.io.outputs import check_outputs
from hpc.io.plan import write_plan
from hpc.report.figures import write_json
from partition.asked_options import add_asked, add_nodes, add_objective, asked_from
from partition.command import add_command
from partition.methods import METHODS
from partition.stats import costs_of, figures
from partition.watched import build_watched


def add_build(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m partition`.
    """
    command = add_command(
        commands,
        "build",
        build,
        "cut a network file into a plan",
        "build net.h5 --parts 2 --epsilon 0.01 --seed 0 --out plan.h5",
    )
    command.add_argument("network", help="network file")
    command.add_argument(
        "--parts",
        type=int,
        required=True,
        metavar="P",
        help="number of ranks, at most the rows of all layers",
    )
    command.add_argument(
        "--method",
        type=Words(tuple(METHODS)),
        default="hypergraph",
        metavar="|".join(METHODS),
        help="hypergraph: cut by --objective (needs relaycut[partition]); random: neurons dealt "
        "out at random; block: contiguous blocks (default hypergraph)",
    )
    add_asked(command)
    add_objective(command)
    add_nodes(command)
    command.add_argument("--out", required=True, metavar="FILE.h5", help="plan file to write")
    add_json(command, "what `stats --json` has, and the seconds")


def build(options: argparse.Namespace) -> None:
    """Cut the network, write the plan, and print what it costs.

    Parameters
    ----------
    options : argparse.Namespace
        Of the command line.

    Raises
    ------
    InputError : an option, the network or an output that cannot be used.
    """
    check_outputs(vars(options), ["out", "json"])
    began = perf_counter()
    asked = asked_from(options, options.parts)
    with open_network(options.network) as network:
        built = build_watched(network, asked, "cutting layers", not options.quiet)
    write_plan(options.out, built.plan)
    for line in () if options.quiet else built.shortfalls[:1]:
        more = f" (and {len(built.shortfalls) - 1} more layers)" if built.shortfalls[1:] else ""
        print(f"partition: note: {line}{more}", file=sys.stderr)
    found = figures(costs_of(built.plan, options.out))
    seconds = perf_counter() - began
    if options.json:
        write_json(options.json, with_config(options, {**found, "seconds": seconds}))
    print(
        f"{options.out}: {found['layers']} layers for {found['parts']} ranks in "
        f"{seconds:.1f} s: {found['volume_words']:,} words per input "
        f"(random: {found['random_volume_words']:,}), imbalance {found['imbalance']:.4f}"
    )
