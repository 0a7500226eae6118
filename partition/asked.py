"""What the user asks of a plan, and what of it makes sense."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpc.io.errors import InputError
from hpc.io.machine import Costs
from hpc.io.network import NetworkHeader
from hpc.io.plan import check_parts

MAX_SEED = 2**31 - 1
"""KaHyPar's seeds are 32-bit."""
MAX_WINDOW = 6
"""Layers that may share owners: as many as are in memory together. `auto` asks for all of them."""
MAX_EPSILON = 1e6
"""More than any P allows anyway."""
MAX_RATIO = 1e6
"""Of the weights of two ranks."""
MAX_INTER_COST = 1000
"""Partitioners sum words in 32 bits."""
BACKENDS = ("kahypar", "mtkahypar")
PRESETS = ("default", "quality", "highest-quality", "deterministic", "large-k")
"""Mt-KaHyPar's; `default` is deterministic with one thread only."""

OBJECTIVES = ("volume", "messages", "time")
DEFAULT_BATCH = 256
"""Inference's."""


@dataclass(frozen=True)
class Asked:
    """What the user wants; the plan keeps it.

    parts : ranks, P. method : of METHODS. epsilon : imbalance ε.
    window : at most so many consecutive layers share owners; 1 cuts layer by layer.
    backend, preset, threads : the partitioner; the last two are Mt-KaHyPar's.
    weights : how much of the work each rank takes, in any unit; () for equal machines.
    objective : of OBJECTIVES. costs, batch : for the objective `time`, what work costs a rank, and
        inputs at a time.
    nodes : how many nodes and ranks in each, () if unknown; rank r is in node r // ranks.
    inter_cost : what a word between nodes costs, in words inside a node.
    """

    parts: int
    method: str = "hypergraph"
    epsilon: float = 0.01
    seed: int = 0
    window: int = MAX_WINDOW
    backend: str = "kahypar"
    preset: str = "deterministic"
    threads: int = 1
    weights: tuple[float, ...] = ()
    objective: str = "volume"
    costs: Costs | None = None
    batch: int = DEFAULT_BATCH
    nodes: tuple[int, int] | tuple[()] = ()
    inter_cost: float = 10.0

    @property
    def tiered(self) -> bool:
        """Return whether some words stay inside a node and some do not."""
        return bool(self.nodes) and min(self.nodes) > 1

    @property
    def node_shape(self) -> tuple[int, int]:
        """How many nodes and ranks in each; one node of all ranks if unknown."""
        return self.nodes or (1, self.parts)

    @property
    def shares(self) -> npt.NDArray[np.float64]:
        """Return what share of the work each part takes: (P,), their sum is 1."""
        weights = np.array(self.weights or [1.0] * self.parts)
        weights = weights / weights.max()
        return weights / weights.sum()


def check_asked(asked: Asked, header: NetworkHeader) -> None:
    """Check what the user asks of a network, but for the method's name.

    Parameters
    ----------
    asked : what is checked.
    header : of the network.

    Raises
    ------
    InputError : parts below 1 or above the rows of all layers, epsilon outside 0..MAX_EPSILON,
        a seed outside 0..MAX_SEED, a window outside 1..MAX_WINDOW, a backend or preset there is
        not, threads below 1, weights of the wrong number, not above 0 or too unlike, an objective
        there is not,
        or that is not the hypergraph method's, or `time` without costs, a batch below 1, nodes
        that are not as many ranks as parts, or that go with another objective or method, an
        inter_cost outside 1..MAX_INTER_COST.
    """
    check_parts(asked.parts, header, "parts")
    if not 0 <= asked.epsilon <= MAX_EPSILON:
        raise InputError(f"--epsilon {asked.epsilon}: expected 0..{MAX_EPSILON:g}")
    if not 0 <= asked.seed <= MAX_SEED:
        raise InputError(f"--seed {asked.seed}: expected 0..{MAX_SEED}")
    if not 1 <= asked.window <= MAX_WINDOW:
        raise InputError(f"--window {asked.window}: expected auto or 1..{MAX_WINDOW}")
    choices = (("backend", BACKENDS), ("preset", PRESETS), ("objective", OBJECTIVES))
    for option, names in choices:
        if getattr(asked, option) not in names:
            found = getattr(asked, option)
            raise InputError(f"--{option} {found}: expected one of {', '.join(names)}")
    if asked.threads < 1:
        raise InputError(f"--threads {asked.threads}: expected 1 or more")
    _check_weights(asked)
    _check_objective(asked)
    _check_nodes(asked)


def _check_weights(asked: Asked) -> None:
    if asked.weights and len(asked.weights) != asked.parts:
        raise InputError(
            f"--weights: {len(asked.weights)} numbers for {asked.parts} parts, expected one each"
        )
    for rank, weight in enumerate(asked.weights):
        if not (math.isfinite(weight) and weight > 0):
            raise InputError(f"--weights: {weight:g} for rank {rank}, expected a number above 0")
    if asked.weights and max(asked.weights) / min(asked.weights) > MAX_RATIO:
        raise InputError(
            f"--weights: {max(asked.weights):g} and {min(asked.weights):g}, expected none more "
            f"than {MAX_RATIO:g} times another"
        )


def _check_objective(asked: Asked) -> None:
    if asked.objective != "volume" and asked.method != "hypergraph":
        raise InputError(
            f"--objective {asked.objective}: --method {asked.method} has no objective, "
            "expected --method hypergraph"
        )
    if (asked.objective == "time") != (asked.costs is not None):
        raise InputError(f"--objective {asked.objective}: the costs of a machine go with `time`")
    if asked.batch < 1:
        raise InputError(f"--batch {asked.batch}: expected 1 or more")


def _check_nodes(asked: Asked) -> None:
    if not 1 <= asked.inter_cost <= MAX_INTER_COST:
        raise InputError(f"--inter-cost {asked.inter_cost:g}: expected 1..{MAX_INTER_COST}")
    if not asked.nodes:
        return
    nodes, ranks = asked.nodes
    if min(nodes, ranks) < 1 or nodes * ranks != asked.parts:
        raise InputError(
            f"--nodes {nodes}x{ranks}: {nodes * ranks} ranks for {asked.parts} parts, "
            "expected as many"
        )
    if asked.method != "hypergraph" or asked.objective != "volume":
        raise InputError("--nodes goes with --method hypergraph and --objective volume")
