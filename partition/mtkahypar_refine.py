"""Mt-KaHyPar: improves a given cut. Repairs what KaHyPar is weak at with fixed vertices."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from partition.backends import CutProblem, load_library
from partition.hypergraph import FREE, Blocks

CYCLES = 1
"""V-cycles of `improve_partition`: further ones gained nothing on the Challenge's layers."""


class MtKaHyPar:
    """The refiner `mtkahypar`: deterministic preset, one thread."""

    def __init__(self) -> None:
        self._library = load_library("mtkahypar")

    def refine(self, problem: CutProblem, blocks: Blocks) -> Blocks:
        """Return a cut reached from `blocks` by local search, (n,) int32; see `Refiner`."""
        graph = problem.hypergraph
        weights, limit = problem.scaled()
        self._library.set_seed(problem.seed)
        starter = _started(self._library)
        context = starter.context_from_preset(self._library.PresetType.DETERMINISTIC)
        context.set_partitioning_parameters(problem.parts, 0.0, self._library.Objective.KM1)
        context.set_individual_target_block_weights([limit] * problem.parts)
        context.logging = False
        nets = [net.tolist() for net in np.split(graph.pins, graph.net_start[1:-1])]
        hypergraph = starter.create_hypergraph(
            context,
            graph.n_vertices,
            graph.n_nets,
            nets,
            weights.tolist(),
            graph.net_weight.tolist(),
        )
        if (graph.fixed != FREE).any():
            hypergraph.add_fixed_vertices(graph.fixed.tolist(), problem.parts)
        cut = hypergraph.create_partitioned_hypergraph(context, problem.parts, blocks.tolist())
        cut.improve_partition(context, CYCLES)
        return np.array(cut.get_partition(), np.int32)


@functools.cache
def _started(library: Any) -> Any:
    """Start the library's one thread: allowed once a process."""
    return library.initialize(1, False)
