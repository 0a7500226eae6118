"""Build a plan: a few layers in memory at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from scipy import sparse

from hpc.io.errors import InputError
from hpc.io.halo import Longs, Traffic, layer_traffic
from hpc.io.network import NetworkFile
from hpc.io.plan import Owners, Plan
from partition.asked import MAX_WINDOW, Asked, check_asked
from partition.balance import shortfall
from partition.candidates import passes
from partition.load import layer_load
from partition.methods import METHODS, random_levels
from partition.nodes import words_between
from partition.patterns import Patterns

LayerCost = tuple[Longs, Longs, Longs]


@dataclass(frozen=True)
class Built:
    """A plan, and a line for each layer that misses the balance asked for: why it does."""

    plan: Plan
    shortfalls: tuple[str, ...]


def build_plan(
    network: NetworkFile, asked: Asked, on_layer: Callable[[], None] = lambda: None
) -> Built:
    """Cut a network, and count what the plan and a random one of the same seed cost.

    Parameters
    ----------
    network : open network file.
    asked : what is wanted of the plan.
    on_layer : called `steps(n_layers, asked)` times.

    Returns
    -------
    The plan, and what it misses.

    Raises
    ------
    InputError : see `check_asked`; a method there is not, a partitioner not installed.
    """
    if asked.method not in METHODS:
        raise InputError(f"--method {asked.method}: expected one of {', '.join(METHODS)}")
    check_asked(asked, network.header)
    patterns = Patterns(network, MAX_WINDOW)
    levels = METHODS[asked.method](asked, patterns, on_layer)
    random = random_levels(asked, patterns)
    costs: list[LayerCost] = []
    random_costs: list[LayerCost] = []
    shortfalls: list[str] = []
    between: list[Longs] = []
    for k in range(len(patterns)):
        pattern = patterns[k]
        costs.append(_cost(pattern, levels[k : k + 2], asked.parts))
        random_costs.append(_cost(pattern, random[k : k + 2], asked.parts))
        if asked.nodes:
            links = layer_load(pattern, levels[k + 1], levels[k], asked.parts).links
            between.append(words_between(links, asked.nodes[1]))
        weights = np.diff(pattern.indptr).astype(np.int64)
        missed = shortfall(weights, levels[k + 1], asked.shares, asked.epsilon)
        shortfalls += [f"layer {k + 1}: {missed}"] if missed else []
        on_layer()
    plan = Plan(
        asked.parts,
        tuple(levels),
        network.header.fingerprint,
        asdict(asked),
        _traffic(costs),
        _traffic(random_costs),
        np.stack(between) if between else None,
    )
    return Built(plan, tuple(shortfalls))


def steps(n_layers: int, asked: Asked) -> int:
    """Return how often `build_plan` reports a layer done: the passes to cut, one to count.

    Parameters
    ----------
    n_layers : of the network.
    asked : what is wanted of the plan.

    Returns
    -------
    How often.
    """
    cutting = passes(asked) if asked.method == "hypergraph" else 0
    return (cutting + 1) * n_layers


def _cost(pattern: sparse.csr_array, levels: list[Owners], parts: int) -> LayerCost:
    below, above = levels
    return layer_traffic(
        pattern.indptr.astype(np.int64), pattern.indices.astype(np.int32), above, below, parts
    )


def _traffic(costs: list[LayerCost]) -> Traffic:
    words, messages, edges = (np.stack(column) for column in zip(*costs, strict=True))
    return Traffic(words, messages, edges)
