"""`shard`: write a network file in the rank order of a plan."""

from __future__ import annotations

import argparse
from typing import Any

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json
from hpc.io.network import open_network
from hpc.io.outputs import check_outputs
from hpc.io.plan import check_plan, read_plan
from hpc.report.figures import write_json
from hpc.report.progress import progress
from partition.command import add_command
from partition.shard import rank_groups, shard_network


def add_shard(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m partition`.
    """
    command = add_command(
        commands,
        "shard",
        shard,
        "write a network in rank order, so that ranks start fast",
        "shard net.h5 plan.h5 --out sharded.h5",
    )
    command.add_argument("network", help="network file")
    command.add_argument("plan", help="plan file of this network")
    command.add_argument("--out", required=True, metavar="FILE.h5", help="sharded file to write")
    add_json(command, "ranks and weights")


def shard(options: argparse.Namespace) -> None:
    """Write the sharded file.

    Parameters
    ----------
    options : argparse.Namespace
        Of the command line.

    Raises
    ------
    InputError : an option, a file or an output that cannot be used; a plan of another network.
    """
    check_outputs(vars(options), ["out", "json"])
    plan = read_plan(options.plan)
    with open_network(options.network) as network:
        check_plan(plan, network.header, plan.parts, options.plan)
        groups = rank_groups(network.header, plan)
        total = len(groups) * network.header.n_layers
        with progress("sharding layers", total, not options.quiet) as step:
            shard_network(network, plan, options.out, groups, lambda: step(1, ""))
    print(f"{options.out}: {plan.parts} shards of {network.header.n_edges:,} weights")
    if options.json:
        figures = {"parts": plan.parts, "edges": network.header.n_edges}
        write_json(options.json, with_config(options, figures))
