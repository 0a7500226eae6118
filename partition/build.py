"""Build a plan: layer by layer through the network, one layer in memory at a time."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass

import numpy as np
from scipy import sparse

from hpc.io.errors import InputError
from hpc.io.halo import Longs, Traffic, layer_traffic
from hpc.io.network import NetworkFile, NetworkHeader
from hpc.io.plan import Owners, Plan, check_parts
from partition.balance import shortfall
from partition.methods import METHODS, Asked, Method, random_cut

MAX_SEED = 2**31 - 1
"""KaHyPar's seeds are 32-bit."""

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
    on_layer : called after each layer.

    Raises
    ------
    InputError : see `check_asked`; a partitioner that is not installed.
    """
    check_asked(asked, network.header)
    method, baseline = METHODS[asked.method](asked), random_cut(asked)
    levels: list[Owners] = []
    random_level: Owners | None = None
    costs: list[LayerCost] = []
    random_costs: list[LayerCost] = []
    shortfalls: list[str] = []
    for k in range(network.header.n_layers):
        pattern = network.layer(k).weight
        below, above = _next_levels(method, k, pattern, levels[-1] if levels else None)
        levels += [above] if levels else [below, above]
        costs.append(_cost(pattern, above, below, asked.parts))
        random_below, random_level = _next_levels(baseline, k, pattern, random_level)
        random_costs.append(_cost(pattern, random_level, random_below, asked.parts))
        missed = shortfall(np.diff(pattern.indptr), above, asked.parts, asked.epsilon)
        shortfalls += [f"layer {k + 1}: {missed}"] if missed else []
        on_layer()
    plan = Plan(
        asked.parts,
        tuple(levels),
        network.header.fingerprint,
        asdict(asked),
        _traffic(costs),
        _traffic(random_costs),
    )
    return Built(plan, tuple(shortfalls))


def check_asked(asked: Asked, header: NetworkHeader) -> None:
    """Check what the user asks of a network.

    Raises
    ------
    InputError : parts below 1 or above the rows of all layers, a method there is not,
        epsilon below 0 or not finite, a seed outside 0..MAX_SEED.
    """
    if asked.method not in METHODS:
        raise InputError(f"--method {asked.method}: expected one of {', '.join(METHODS)}")
    check_parts(asked.parts, header, "parts")
    if not (math.isfinite(asked.epsilon) and asked.epsilon >= 0):
        raise InputError(f"--epsilon {asked.epsilon}: expected 0 or more")
    if not 0 <= asked.seed <= MAX_SEED:
        raise InputError(f"--seed {asked.seed}: expected 0..{MAX_SEED}")


def _next_levels(
    method: Method, k: int, pattern: sparse.csr_array, below: Owners | None
) -> tuple[Owners, Owners]:
    """Return the owners below and above layer k (0-based)."""
    if below is None:
        return method.first(pattern)
    return below, method.next(k + 1, pattern, below)


def _cost(pattern: sparse.csr_array, above: Owners, below: Owners, parts: int) -> LayerCost:
    indptr = np.asarray(pattern.indptr, np.int64)
    return layer_traffic(indptr, np.asarray(pattern.indices, np.int32), above, below, parts)


def _traffic(costs: list[LayerCost]) -> Traffic:
    words, messages, edges = (np.stack(column) for column in zip(*costs, strict=True))
    return Traffic(words, messages, edges)
