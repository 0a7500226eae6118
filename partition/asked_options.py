"""The options that say how to cut: of `build` and of `compare`."""

from __future__ import annotations

import argparse
from typing import Any

from hpc.cli.shared_options import add_seed
from hpc.cli.words import Words
from hpc.io.errors import InputError
from hpc.io.machine import read_machine
from partition.asked import BACKENDS, DEFAULT_BATCH, MAX_WINDOW, OBJECTIVES, PRESETS, Asked
from partition.methods import METHODS

CUTTERS = (*BACKENDS, "random", "block")
"""What --backend takes: partitioners, and methods that need none."""


def numbers_of_ranks(text: str) -> list[int]:
    """Return the numbers in `2,4,8`: argparse's type of an option.

    Parameters
    ----------
    text : str
        What the user wrote; spaces around the numbers are allowed.

    Returns
    -------
    list of int
        The numbers in the order given, 0 among them: `check_asked` refuses it.

    Raises
    ------
    argparse.ArgumentTypeError : something else than whole numbers with commas between them.
    """
    if not all(part.strip().isdecimal() for part in text.split(",")):
        raise argparse.ArgumentTypeError(f"{text!r}: expected numbers of ranks: 2,4,8")
    return [int(part) for part in text.split(",")]


def add_asked(command: argparse.ArgumentParser) -> None:
    """Add the options that `asked_from` reads, but for --parts and --method.

    Parameters
    ----------
    command : argparse.ArgumentParser
        Gets --epsilon, --seed, --window, --backend, --preset, --threads and --weights.
    """
    add = command.add_argument
    add(
        "--epsilon",
        type=float,
        default=Asked.epsilon,
        metavar="E",
        help="how much heavier than its share a part may be in each layer, where the rows "
        "allow it (default 0.01)",
    )
    add_seed(command)
    add(
        "--window",
        type=Words(("auto",)),
        default="auto",
        metavar="auto|W",
        help=f"at most W consecutive layers share owners where that costs less than one layer at "
        f"a time; 1: one at a time (default auto, {MAX_WINDOW})",
    )
    add(
        "--backend",
        type=Words(CUTTERS),
        default=Asked.backend,
        metavar="|".join(CUTTERS),
        help="partitioner; random and block are those methods (default kahypar, refined by "
        "mtkahypar where that helps)",
    )
    add(
        "--preset",
        type=Words(PRESETS),
        default=Asked.preset,
        metavar="|".join(PRESETS),
        help="of mtkahypar (default deterministic)",
    )
    add(
        "--threads",
        type=int,
        default=1,
        metavar="T",
        help="of mtkahypar; with more than 1 only 'deterministic' gives the same plan each time "
        "(default 1)",
    )
    add(
        "--weights",
        default="",
        metavar="W,W,...",
        help="for unequal machines: how much of the work each rank takes, one number a rank",
    )


def add_objective(command: argparse.ArgumentParser) -> None:
    """Add the options that say what the plan shall have least of.

    Parameters
    ----------
    command : argparse.ArgumentParser
        Gets --objective, --machine, --batch and --training.
    """
    add = command.add_argument
    add(
        "--objective",
        type=Words(OBJECTIVES),
        default=Asked.objective,
        metavar="|".join(OBJECTIVES),
        help="volume: fewest words; messages: fewest messages, where latency rules; time: "
        "shortest predicted time, which weighs words, messages and imbalance by --machine "
        "and --batch (default volume)",
    )
    add(
        "--machine",
        metavar="FILE.json",
        help="for --objective time: what work costs, from 'mpirun -n 2 python -m hpc machine'",
    )
    add(
        "--batch",
        type=int,
        metavar="B",
        help="for --objective time: inputs at a time; the more, the more words count against "
        f"messages (default {DEFAULT_BATCH})",
    )
    add(
        "--training",
        action="store_true",
        help="for --objective time: the time of a step of training (default inference)",
    )


def add_nodes(command: argparse.ArgumentParser) -> None:
    """Add the options that say how ranks are grouped.

    Parameters
    ----------
    command : argparse.ArgumentParser
        Gets --nodes and --inter-cost.
    """
    command.add_argument(
        "--nodes",
        metavar="NxR",
        help="N nodes of R ranks each, rank r in node r // R: words between nodes are avoided "
        "first (default all ranks alike)",
    )
    command.add_argument(
        "--inter-cost",
        type=float,
        metavar="C",
        help="for --nodes: a word between nodes costs as much as C words inside one "
        f"(default {Asked.inter_cost:g})",
    )


def asked_from(options: argparse.Namespace, parts: int) -> Asked:
    """Return what the options ask for.

    Parameters
    ----------
    options : argparse.Namespace
        Of a command that has the options of `add_asked`; those of `add_objective` and `add_nodes`,
        and --method, are read where it has them.
    parts : int
        Ranks, P.

    Returns
    -------
    Asked
        Not yet checked against a network: see `check_asked`.

    Raises
    ------
    InputError : a window that is no number, weights that are none, a machine file that cannot be
        read, options of the objective `time` with another one, nodes that are not NxR, --inter-cost
        without nodes.
    """
    method, backend = getattr(options, "method", Asked.method), options.backend
    if backend in METHODS:
        method, backend = backend, Asked.backend
    return Asked(
        parts,
        method,
        options.epsilon,
        options.seed,
        _window(options.window),
        backend,
        options.preset,
        options.threads,
        _weights(options.weights),
        **_objective(options),
        **_nodes(options),
    )


def _nodes(options: argparse.Namespace) -> dict[str, Any]:
    """Return the nodes, if the command has that choice and they are given."""
    if getattr(options, "nodes", None) is None:
        if getattr(options, "inter_cost", None) is not None:
            raise InputError("--inter-cost goes with --nodes")
        return {}
    nodes, times, ranks = options.nodes.partition("x")
    if not (times and nodes.isdecimal() and ranks.isdecimal()):
        raise InputError(f"--nodes {options.nodes}: expected NxR, N nodes of R ranks: 8x16")
    cost = Asked.inter_cost if options.inter_cost is None else options.inter_cost
    return {"nodes": (int(nodes), int(ranks)), "inter_cost": cost}


def _objective(options: argparse.Namespace) -> dict[str, Any]:
    """Return the objective and what it needs; nothing for a command without the choice."""
    if "objective" not in options:
        return {}
    if options.objective != "time":
        for name in ("machine", "batch", "training"):
            if getattr(options, name) not in (None, False):
                raise InputError(f"--{name} goes with --objective time")
        return {"objective": options.objective}
    if options.machine is None:
        raise InputError(
            "--objective time needs --machine M.json; "
            "'mpirun -n 2 python -m hpc machine --out M.json' makes the file"
        )
    machine = read_machine(options.machine)
    return {
        "objective": "time",
        "costs": machine.training if options.training else machine.inference,
        "batch": DEFAULT_BATCH if options.batch is None else options.batch,
    }


def _window(text: str) -> int:
    if text == "auto":
        return MAX_WINDOW
    if not text.isdecimal():
        raise InputError(f"--window {text}: expected auto or 1..{MAX_WINDOW}")
    return int(text)


def _weights(text: str) -> tuple[float, ...]:
    try:
        return tuple(float(part) for part in text.split(",")) if text else ()
    except ValueError as error:
        raise InputError(f"--weights {text}: expected numbers with commas between them") from error
