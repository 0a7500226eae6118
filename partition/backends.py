"""What a partitioner of hypergraphs is to us, and what we check of its answer."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from types import ModuleType
from typing import Protocol

import numpy as np

from hpc.io.errors import InputError
from partition.hypergraph import FREE, Blocks, Hypergraph, Longs, connectivity_cut, part_loads


@dataclass(frozen=True)
class CutProblem:
    """A hypergraph to be cut.

    limit : the most weight of free vertices that a part may hold. seed : 0 or more.
    """

    hypergraph: Hypergraph
    parts: int
    limit: int
    seed: int

    def scaled(self) -> tuple[Longs, int]:
        """Return vertex weights and limit for a partitioner that wants weights of 1 or more.

        The greatest common divisor is taken out. A fixed vertex then weighs 1; there is one
        in each part or none at all, so a limit higher by 1 leaves the balance as it was.
        """
        graph = self.hypergraph
        unit = max(int(np.gcd.reduce(graph.vertex_weight)), 1)
        is_fixed = graph.fixed != FREE
        weights = np.where(is_fixed, 1, graph.vertex_weight // unit)
        return weights, self.limit // unit + bool(is_fixed.any())


class Backend(Protocol):
    """Cuts hypergraphs into parts of bounded weight at a small connectivity cut."""

    def cut(self, problem: CutProblem) -> Blocks:
        """Return the part of every vertex, (n,) int32. The same problem gives the same answer."""
        ...


class Refiner(Protocol):
    """Improves a cut."""

    def refine(self, problem: CutProblem, blocks: Blocks) -> Blocks:
        """Return a cut reached from `blocks` by local search, (n,) int32."""
        ...


def best_cut(problem: CutProblem, backend: Backend, refiner: Refiner) -> Blocks:
    """Return the better of the backend's cut and the refined one: balance first, then words."""
    first = checked(problem, backend.cut(problem))
    refined = checked(problem, refiner.refine(problem, first))
    return min((refined, first), key=lambda blocks: _badness(problem, blocks))


def checked(problem: CutProblem, blocks: Blocks) -> Blocks:
    """Return `blocks` with every fixed vertex in its part.

    Raises
    ------
    RuntimeError : a vertex without a part, or with one outside 0..P-1.
    """
    fixed = problem.hypergraph.fixed
    if blocks.shape != fixed.shape or blocks.min() < 0 or blocks.max() >= problem.parts:
        raise RuntimeError(f"the partitioner left vertices outside parts 0..{problem.parts - 1}")
    return np.where(fixed == FREE, blocks, fixed).astype(np.int32)


def _badness(problem: CutProblem, blocks: Blocks) -> tuple[int, int]:
    loads = part_loads(problem.hypergraph, blocks, problem.parts)
    excess = int(np.maximum(loads - problem.limit, 0).sum())
    return excess, connectivity_cut(problem.hypergraph, blocks)


def load_library(name: str) -> ModuleType:
    """Import a partitioner's binding.

    Raises
    ------
    InputError : it is not installed; names the extra that has it.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise InputError(
            f"--method hypergraph needs {name}: pip install 'relaycut[partition]'"
        ) from error
