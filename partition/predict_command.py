"""`predict`: how long a plan will take, and how a network scales over numbers of ranks."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from hpc.cli.config import with_config
from hpc.cli.shared_options import add_json
from hpc.io.errors import InputError
from hpc.io.machine import Costs, read_machine
from hpc.io.network import open_network
from hpc.io.outputs import check_outputs
from hpc.io.plan import Plan, check_plan, read_plan
from hpc.report.figures import table, write_json
from partition.asked import Asked, check_asked
from partition.asked_options import add_asked, asked_from, numbers_of_ranks
from partition.command import add_command
from partition.compare_plot import check_picture
from partition.predict import KINDS, Prediction, predict
from partition.predict_plot import draw_scaling
from partition.watched import build_watched

EDGE_LAYERS = 4
"""Layers shown at either end of a long network."""


def add_predict(commands: Any) -> None:
    """Add the command.

    Parameters
    ----------
    commands : argparse subparsers
        Of `python -m partition`.
    """
    command = add_command(
        commands,
        "predict",
        run,
        "say how long a plan will take, and how a network scales",
        "predict plan.h5 --machine machine.json --batch 256 --network net.h5 --parts 2,4",
    )
    add = command.add_argument
    add("plan", help="plan file")
    add(
        "--machine",
        required=True,
        metavar="FILE.json",
        help="from 'mpirun -n 2 python -m hpc machine'",
    )
    add("--batch", type=int, default=256, metavar="B", help="inputs at a time (default 256)")
    add("--training", action="store_true", help="a step of training (default inference)")
    add("--network", metavar="FILE.h5", help="network file, for --parts")
    add(
        "--parts",
        type=numbers_of_ranks,
        metavar="P,P...",
        help="cut --network for these ranks as well",
    )
    add_asked(command)
    add_json(command, "the seconds")
    add(
        "--plot", metavar="FILE", help="draw the scaling: .png, .svg or .pdf (needs relaycut[plot])"
    )


def run(options: argparse.Namespace) -> None:
    """Print what a batch takes under the plan, and under plans for other numbers of ranks.

    Parameters
    ----------
    options : argparse.Namespace
        Of the command line.

    Raises
    ------
    InputError : an option, a file or an output that cannot be used; --parts without --network or
        the other way round; --plot without matplotlib.
    """
    if bool(options.parts) != bool(options.network):
        raise InputError("--parts and --network go together: the network is cut for these ranks")
    check_outputs(vars(options), ["json", "plot"])
    if options.plot:
        check_picture(options.plot)
    machine = read_machine(options.machine)
    costs = machine.training if options.training else machine.inference
    plan = read_plan(options.plan)
    others = _others(options, plan)
    found = predict(plan, costs, options.batch)
    kind = "training" if options.training else "inference"
    print(f"{options.plan}: {plan.parts} ranks, {kind}, batch {options.batch}")
    print(layer_table(found))
    every = [found, *_predicted(options, others, costs)]
    every.sort(key=lambda one: one.parts)
    print()
    print(scaling_table(every))
    if options.json:
        write_json(options.json, with_config(options, _figures(options.batch, kind, every)))
    if options.plot:
        draw_scaling(every, options.plot)


def layer_table(found: Prediction) -> str:
    """Return the table of layers, the middle ones of a long network left out, and the total.

    Parameters
    ----------
    found : Prediction
        Of one plan.

    Returns
    -------
    str
        Lines of a table, in milliseconds.
    """
    n_layers = len(found.seconds)
    rows = []
    for k, seconds in enumerate(found.seconds):
        if n_layers <= 2 * EDGE_LAYERS + 1 or not EDGE_LAYERS <= k < n_layers - EDGE_LAYERS:
            rows.append([str(k + 1), *_cells([*seconds, seconds.sum()])])
        elif k == EDGE_LAYERS:
            rows.append([f"{n_layers - 2 * EDGE_LAYERS} more", *["..."] * (len(KINDS) + 1)])
    rows.append(["batch", *_cells([*found.by_kind().values(), found.total_s])])
    return table(["layer", *KINDS, "all"], rows)


def scaling_table(every: Sequence[Prediction]) -> str:
    """Return the table over numbers of ranks. Speed is against the fewest ranks.

    Parameters
    ----------
    every : sequence of Prediction
        One per number of ranks, the fewest first.

    Returns
    -------
    str
        Lines of a table, in milliseconds.
    """
    base = every[0]
    rows = [
        [
            str(one.parts),
            *_cells([*one.by_kind().values(), one.total_s]),
            f"{base.total_s / one.total_s:.2f}",
        ]
        for one in every
    ]
    return table(["ranks", *KINDS, "batch", f"speed on {base.parts}"], rows)


def _others(options: argparse.Namespace, plan: Plan) -> list[Asked]:
    """Return what is asked for the other numbers of ranks; the network is that of the plan."""
    if not options.parts:
        return []
    every = [asked_from(options, parts) for parts in options.parts if parts != plan.parts]
    with open_network(options.network) as network:
        check_plan(plan, network.header, plan.parts, options.plan)
        for asked in every:
            check_asked(asked, network.header)
    return every


def _predicted(
    options: argparse.Namespace, others: Sequence[Asked], costs: Costs
) -> list[Prediction]:
    """Cut the network for other numbers of ranks and predict those plans."""
    if not others:
        return []
    with open_network(options.network) as network:
        plans = [
            build_watched(network, asked, f"cutting for {asked.parts} ranks", not options.quiet)
            for asked in others
        ]
    return [predict(one.plan, costs, options.batch) for one in plans]


def _figures(batch: int, kind: str, every: Sequence[Prediction]) -> dict[str, Any]:
    return {
        "kind": kind,
        "batch": batch,
        "parts": [one.parts for one in every],
        "batch_s": [one.total_s for one in every],
        **{f"{name}_s": [one.by_kind()[name] for one in every] for name in KINDS},
        "layer_s": [one.seconds.sum(axis=1).tolist() for one in every],
    }


def _cells(seconds: Sequence[float]) -> list[str]:
    return [f"{1e3 * one:.4g} ms" for one in seconds]
