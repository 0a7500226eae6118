"""`shard`: write a network file in the rank order of a plan."""

from __future__ import annotations

import argparse
from typing import Any

from hpc.io.network import open_network
from hpc.io.outputs import check_outputs
from hpc.io.plan import check_plan, read_plan
from hpc.report.progress import progress
from partition.command import add_command
from partition.shard import rank_groups, shard_network


def add_shard(commands: Any) -> None:
    """Add the command."""
    command = add_command(
        commands,
        "shard",
        shard,
        "write a network in rank order, so that ranks start fast",
        "shard net.h5 plan.h5 --out sharded.h5",
    )
    command.add_argument("network", help="network file")
    command.add_argument("plan", help="plan file of this network")
    command.add_argument("--out", required=True, metavar="FILE", help="sharded file to write")


def shard(options: argparse.Namespace) -> None:
    """Run the command."""
    check_outputs(vars(options), ["out"])
    plan = read_plan(options.plan)
    with open_network(options.network) as network:
        check_plan(plan, network.header, plan.parts, options.plan)
        groups = rank_groups(network.header, plan)
        with progress("sharding layers", len(groups) * network.header.n_layers) as step:
            shard_network(network, plan, options.out, groups, lambda: step(1, ""))
    print(f"{options.out}: {plan.parts} shards of {network.header.n_edges:,} weights")
