"""The command line: build, stats, shard."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from time import perf_counter

from rich.console import Console

from hpc.io.container import check_writable
from hpc.io.network import open_network
from hpc.io.plan import check_plan, read_plan, write_plan
from hpc.report.figures import write_json
from hpc.report.progress import progress
from partition.build import build_plan
from partition.methods import METHODS, Asked
from partition.shard import rank_groups, shard_network
from partition.stats import costs_of, figures, print_table

PROG = "python -m partition"


def main(arguments: Sequence[str]) -> None:
    """Run one command.

    Raises
    ------
    InputError : bad input; argparse ends the program on bad usage, with the same exit code.
    """
    options = _parser().parse_args(arguments)
    options.run(options)


def build(options: argparse.Namespace) -> None:
    """Cut a network file and write the plan."""
    check_writable(options.out)
    began = perf_counter()
    asked = Asked(options.parts, options.method, options.epsilon, options.seed)
    with (
        open_network(options.network) as network,
        progress("cutting layers", network.header.n_layers) as step,
    ):
        built = build_plan(network, asked, lambda: step(1, ""))
    write_plan(options.out, built.plan)
    for line in built.shortfalls[:1]:
        more = f" (and {len(built.shortfalls) - 1} more layers)" if built.shortfalls[1:] else ""
        print(f"partition: note: {line}{more}", file=sys.stderr)
    costs = costs_of(built.plan, options.out)
    found = figures(costs)
    print(
        f"{options.out}: {found['layers']} layers for {found['parts']} ranks in "
        f"{perf_counter() - began:.1f} s: {found['volume_words']:,} words per input "
        f"(random: {found['random_volume_words']:,}), imbalance {found['imbalance']:.4f}"
    )


def stats(options: argparse.Namespace) -> None:
    """Print what a plan costs."""
    if options.json:
        check_writable(options.json)
    costs = costs_of(read_plan(options.plan), options.plan)
    print_table(costs, Console(), options.layers)
    if options.json:
        write_json(options.json, figures(costs))


def shard(options: argparse.Namespace) -> None:
    """Write a network file in the rank order of a plan."""
    check_writable(options.out)
    plan = read_plan(options.plan)
    with open_network(options.network) as network:
        check_plan(plan, network.header, plan.parts, options.plan)
        groups = rank_groups(network.header, plan)
        with progress("sharding layers", len(groups) * network.header.n_layers) as step:
            shard_network(network, plan, options.out, groups, lambda: step(1, ""))
    print(f"{options.out}: {plan.parts} shards of {network.header.n_edges:,} weights")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=PROG,
        description="Cut a network for a number of ranks, ahead of time and without MPI.",
        epilog=f"example:\n  {PROG} build net.h5 --parts 8 --out plan.h5\n"
        f"  {PROG} stats plan.h5\n  mpirun -n 8 python -m hpc spdnn infer net.h5 x.h5 "
        "--plan plan.h5",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    _add_build(commands)
    _add_stats(commands)
    _add_shard(commands)
    return parser


def _add_build(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        "build",
        build,
        "cut a network file into a plan",
        "build net.h5 --parts 8 --method hypergraph --epsilon 0.01 --seed 0 --out plan.h5",
    )
    command.add_argument("network", help="network file")
    command.add_argument(
        "--parts",
        type=int,
        required=True,
        metavar="P",
        help="number of ranks, at most the rows of the largest layer",
    )
    command.add_argument(
        "--method",
        default="hypergraph",
        metavar="|".join(METHODS),
        help="hypergraph: least volume (needs relaycut[partition]); random: neurons dealt out "
        "at random; block: contiguous blocks (default: hypergraph)",
    )
    command.add_argument(
        "--epsilon",
        type=float,
        default=0.01,
        metavar="E",
        help="hypergraph: how much heavier than the mean a part may be in each layer, "
        "where the rows allow it (default: 0.01)",
    )
    command.add_argument(
        "--seed", type=int, default=0, metavar="S", help="same seed, same plan (default: 0)"
    )
    command.add_argument("--out", required=True, metavar="PLAN", help="plan file to write")


def _add_stats(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
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
    command.add_argument(
        "--json",
        metavar="FILE",
        help="also write totals over layers, forward, per input: volume_words, messages, "
        "random_..., max_send_words (the largest rank's total), imbalance (the largest layer's)",
    )


def _add_shard(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    command = _command(
        commands,
        "shard",
        shard,
        "write a network in rank order, so that ranks start fast",
        "shard net.h5 plan.h5 --out sharded.h5",
    )
    command.add_argument("network", help="network file")
    command.add_argument("plan", help="plan file of this network")
    command.add_argument("--out", required=True, metavar="FILE", help="sharded file to write")


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    run: object,
    summary: str,
    example: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=f"example:\n  {PROG} {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.set_defaults(run=run)
    return command
