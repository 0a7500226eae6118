"""Mt-KaHyPar: cuts with several threads, and improves cuts made by others."""

from __future__ import annotations

import functools
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from partition.backends import CutProblem, load_library
from partition.hypergraph import FREE, Blocks, Hypergraph

CYCLES = 1
"""V-cycles of `improve_partition`: further ones gained nothing on the Challenge's layers."""
WITHOUT_FIXED = "large-k"
"""The preset that refuses fixed vertices."""


class MtKaHyPar:
    """The backend and refiner `mtkahypar`: the same problem gives the same answer with the
    preset `deterministic`, and with one thread.

    Parameters
    ----------
    preset : str
        One of PRESETS.
    threads : int
        1 or more, the same in all instances of a process.

    Raises
    ------
    InputError : Mt-KaHyPar is not installed.
    """

    def __init__(self, preset: str = "deterministic", threads: int = 1) -> None:
        self._library = load_library("mtkahypar")
        self._starter = _started(self._library, threads)
        self._preset = preset

    def cut(self, problem: CutProblem) -> Blocks:
        """Cut a hypergraph; see `Backend.cut`.

        The preset `large-k` knows no fixed vertices: what it cuts is matched to them and refined.

        Parameters
        ----------
        problem : CutProblem
            Hypergraph, limits of the parts and seed.

        Returns
        -------
        (n,) int32 array
            The part of every vertex.
        """
        graph = problem.hypergraph
        is_fixed = bool((graph.fixed != FREE).any())
        context = self._context(problem, self._preset)
        if is_fixed and self._preset == WITHOUT_FIXED:
            return self._cut_and_match(problem, context)
        found = self._hypergraph(problem, context, is_fixed).partition(context)
        return np.array(found.get_partition(), np.int32)

    def refine(self, problem: CutProblem, blocks: Blocks) -> Blocks:
        """Improve a cut by local search; see `Refiner.refine`.

        Parameters
        ----------
        problem : CutProblem
            What was cut.
        blocks : (n,) int32 array
            The part of every vertex, fixed ones in theirs.

        Returns
        -------
        (n,) int32 array
            The part of every vertex in the cut that was reached.
        """
        preset = "default" if self._preset == WITHOUT_FIXED else self._preset
        context = self._context(problem, preset)
        is_fixed = bool((problem.hypergraph.fixed != FREE).any())
        hypergraph = self._hypergraph(problem, context, is_fixed)
        cut = hypergraph.create_partitioned_hypergraph(context, problem.parts, blocks.tolist())
        cut.improve_partition(context, CYCLES)
        return np.array(cut.get_partition(), np.int32)

    def _cut_and_match(self, problem: CutProblem, context: Any) -> Blocks:
        """Cut as if no vertex were fixed, name the blocks after the fixed ones, then refine."""
        graph = problem.hypergraph
        free = self._hypergraph(problem, context, False).partition(context)
        blocks = np.array(free.get_partition(), np.int32)
        ties = _ties(graph, blocks, problem.parts)
        named, parts = linear_sum_assignment(ties, maximize=True)
        part_of = np.empty(problem.parts, np.int32)
        part_of[named] = parts
        matched = np.where(graph.fixed == FREE, part_of[blocks], graph.fixed).astype(np.int32)
        return self.refine(problem, matched)

    def _context(self, problem: CutProblem, preset: str) -> Any:
        kind = self._library.PresetType.__members__[preset.replace("-", "_").upper()]
        self._library.set_seed(problem.seed)
        context = self._starter.context_from_preset(kind)
        context.set_partitioning_parameters(problem.parts, 0.0, self._library.Objective.KM1)
        context.set_individual_target_block_weights(problem.scaled()[1].tolist())
        context.logging = False
        return context

    def _hypergraph(self, problem: CutProblem, context: Any, with_fixed: bool) -> Any:
        graph = problem.hypergraph
        pins, start = graph.pins.tolist(), graph.net_start.tolist()
        hypergraph = self._starter.create_hypergraph(
            context,
            graph.n_vertices,
            graph.n_nets,
            [pins[begin:end] for begin, end in pairwise(start)],
            problem.scaled()[0].tolist(),
            graph.net_weight.tolist(),
        )
        if with_fixed:
            hypergraph.add_fixed_vertices(graph.fixed.tolist(), problem.parts)
        return hypergraph


def _ties(graph: Hypergraph, blocks: Blocks, parts: int) -> np.ndarray[Any, Any]:
    """Return the weight of the nets that tie each block to each part's fixed vertex, (P, P)."""
    nets = graph.incidence().astype(np.int64)
    member = np.eye(parts, dtype=np.int64)[blocks]
    member[graph.fixed != FREE] = 0
    owner = np.eye(parts + 1, dtype=np.int64)[graph.fixed][:, :parts]
    touched, owned = (nets @ member) > 0, (nets @ owner) > 0
    ties: np.ndarray[Any, Any] = (touched * graph.net_weight[:, None]).T @ owned
    return ties


@functools.cache
def _started(library: Any, threads: int) -> Any:
    """Start the library's threads: allowed once a process."""
    return library.initialize(threads, False)
