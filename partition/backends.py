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

    limits : (P,), the most weight of free vertices that each part may hold. seed : 0 or more.
    """

    hypergraph: Hypergraph
    limits: Longs
    seed: int

    @property
    def parts(self) -> int:
        """Number of parts, P."""
        return len(self.limits)

    def scaled(self) -> tuple[Longs, Longs]:
        """Return vertex weights and limits for a partitioner that wants weights of 1 or more.

        The greatest common divisor is taken out. A fixed vertex then weighs 1; there is one
        in each part or none at all, so limits higher by 1 leave the balance as it was.

        Returns
        -------
        weights : (n,) int64 array
            Of the vertices, 1 or more where no free vertex weighs 0.
        limits : (P,) int64 array
            In the same unit.
        """
        graph = self.hypergraph
        unit = max(int(np.gcd.reduce(graph.vertex_weight)), 1)
        is_fixed = graph.fixed != FREE
        weights = np.where(is_fixed, 1, graph.vertex_weight // unit)
        return weights, self.limits // unit + bool(is_fixed.any())


class Backend(Protocol):
    """Cuts hypergraphs into parts of bounded weight at a small connectivity cut."""

    def cut(self, problem: CutProblem) -> Blocks:
        """Cut a hypergraph.

        Parameters
        ----------
        problem : CutProblem
            Hypergraph, limits of the parts and seed.

        Returns
        -------
        (n,) int32 array
            The part of every vertex, 0..P-1; limits may be missed: `repair` mends it.
        """
        ...


class Refiner(Protocol):
    """Improves a cut."""

    def refine(self, problem: CutProblem, blocks: Blocks) -> Blocks:
        """Improve a cut by local search.

        Parameters
        ----------
        problem : CutProblem
            What was cut.
        blocks : (n,) int32 array
            The part of every vertex.

        Returns
        -------
        (n,) int32 array
            The part of every vertex in the cut that was reached.
        """
        ...


class Refined:
    """A backend whose cuts are refined where that is worth its time; keeps the better cut.

    Parameters
    ----------
    backend : Backend
        Makes the cuts.
    refiner : Refiner
        Improves them.
    most_vertices : int
        Larger hypergraphs are not refined.
    """

    def __init__(self, backend: Backend, refiner: Refiner, most_vertices: int) -> None:
        self._backend, self._refiner = backend, refiner
        self._most_vertices = most_vertices

    def cut(self, problem: CutProblem) -> Blocks:
        """Return the better of the cut and the refined one: balance first, then words.

        Parameters
        ----------
        problem : CutProblem
            Hypergraph, limits of the parts and seed.

        Returns
        -------
        (n,) int32 array
            The part of every vertex, fixed ones in theirs.

        Raises
        ------
        RuntimeError : see `checked`.
        """
        first = checked(problem, self._backend.cut(problem))
        if problem.hypergraph.n_vertices > self._most_vertices:
            return first
        refined = checked(problem, self._refiner.refine(problem, first))
        return min((refined, first), key=lambda blocks: _badness(problem, blocks))


def checked(problem: CutProblem, blocks: Blocks) -> Blocks:
    """Return `blocks` with every fixed vertex in its part.

    Parameters
    ----------
    problem : CutProblem
        What was cut.
    blocks : (n,) int array
        A partitioner's answer.

    Returns
    -------
    (n,) int32 array
        A new array.

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
    excess = int(np.maximum(loads - problem.limits, 0).sum())
    return excess, connectivity_cut(problem.hypergraph, blocks)


def load_library(name: str) -> ModuleType:
    """Import a partitioner's binding.

    Parameters
    ----------
    name : str
        Of the module: 'kahypar' or 'mtkahypar'.

    Returns
    -------
    module
        The binding.

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
