"""KaHyPar: direct k-way multilevel cuts with fixed vertices, objective km1 (λ - 1)."""

from __future__ import annotations

import tempfile
from typing import Any

import numpy as np

from partition.backends import CutProblem, load_library
from partition.hypergraph import FREE, Blocks

CONFIGURATION: dict[str, str | int | float] = {
    # What is optimised.
    "mode": "direct",  # k parts at once, not by recursive bisection
    "objective": "km1",  # the connectivity cut: words, counted once per receiving part
    "seed": 0,  # set for each cut
    "cmaxnet": 1000,  # nets with more pins are left out of the search (cut in any case)
    "vcycles": 0,  # no second multilevel pass: Mt-KaHyPar refines instead
    # Before coarsening.
    "p-use-sparsifier": "false",  # no approximate merging of vertices: ours is exact
    "p-detect-communities": "true",  # Louvain communities keep coarsening inside clusters
    "p-detect-communities-in-ip": "true",  # in initial partitioning too
    "p-reuse-communities": "false",  # found anew for each bisection
    "p-max-louvain-pass-iterations": 100,  # rounds over all vertices in a pass
    "p-min-eps-improvement": 0.0001,  # a pass that gains less ends the search
    "p-louvain-edge-weight": "hybrid",  # edge weights chosen by the density of the hypergraph
    "p-large-he-threshold": 1000,  # communities do not look at larger nets
    "p-smallest-maxnet-threshold": 50000,  # nets larger than this are taken out altogether ...
    "p-maxnet-removal-factor": 0.01,  # ... or than this share of the vertices, if that is more
    # Coarsening.
    "c-type": "ml_style",  # contracts pairs, level by level
    "c-s": 1,  # the heaviest coarse vertex weighs s / (t·k) of the whole
    "c-t": 160,  # stops at t·k vertices
    "c-rating-score": "heavy_edge",  # prefers pairs that share heavy, small nets
    "c-rating-use-communities": "true",  # contracts within communities only
    "c-rating-heavy_node_penalty": "no_penalty",  # heavy vertices contract as others do
    "c-rating-acceptance-criterion": "best_prefer_unmatched",  # ties go to untouched vertices
    "c-fixed-vertex-acceptance-criterion": "fixed_vertex_allowed",  # free with fixed, and fixed
    # with fixed of the same part
    # Initial partitioning of the coarsest hypergraph.
    "i-mode": "recursive",  # by recursive bisection
    "i-technique": "multi",  # itself multilevel
    "i-c-type": "ml_style",  # coarsening there, as above
    "i-c-s": 1,
    "i-c-t": 150,
    "i-c-rating-score": "heavy_edge",
    "i-c-rating-use-communities": "true",
    "i-c-rating-heavy_node_penalty": "no_penalty",
    "i-c-rating-acceptance-criterion": "best_prefer_unmatched",
    "i-c-fixed-vertex-acceptance-criterion": "fixed_vertex_allowed",
    "i-algo": "pool",  # tries every algorithm it has and keeps the best
    "i-runs": 0,  # times each; set for each cut
    "i-bp-algorithm": "worst_fit",  # bin packing of heavy vertices: into the emptiest part
    "i-bp-heuristic-prepacking": "false",  # heavy vertices are packed first only ...
    "i-bp-early-restart": "true",  # ... where a bisection could not be balanced further down
    "i-bp-late-restart": "true",  # ... or where the result is not balanced
    "i-r-type": "twoway_fm",  # local search there: Fiduccia-Mattheyses
    "i-r-runs": -1,  # until nothing improves
    "i-r-fm-stop": "simple",  # gives up after so many moves in vain:
    "i-r-fm-stop-i": 50,
    # Local search while uncoarsening.
    "r-type": "kway_fm_hyperflow_cutter_km1",  # k-way FM, then flows between pairs of parts
    "r-runs": -1,  # until nothing improves
    "r-fm-stop": "adaptive_opt",  # gives up when improvement has become unlikely
    "r-fm-stop-alpha": 1,  # how unlikely
    "r-fm-stop-i": 350,  # moves in vain, for the simple rule
    "r-flow-execution-policy": "exponential",  # flows on levels 1, 2, 4, 8 ...
    "r-hfc-size-constraint": "mf-style",  # the flow problem's size follows the slack in balance
    "r-hfc-scaling": 16,  # times this much
    "r-hfc-distance-based-piercing": "true",  # grows the cut away from the old one
    "r-hfc-mbc": "true",  # of equal cuts, the most balanced
}
"""KaHyPar's options by their documented names: its k-way preset, without the sparsifier."""


RUNS, FEW_RUNS = 20, 2
"""Tries of initial partitioning: the preset's, and what is enough for a large hypergraph."""
LARGE = 1500
"""From so many vertices on FEW_RUNS cost under 0.1 % of the words and save 60 % of the time."""
FEW_EACH = 4
"""So few vertices a part leave nothing to try: FEW_RUNS gave the same words in half the time."""


class KaHyPar:
    """The backend `kahypar`: one thread, deterministic for a seed."""

    def __init__(self) -> None:
        self._library = load_library("kahypar")

    def cut(self, problem: CutProblem) -> Blocks:
        """Cut a hypergraph; see `Backend.cut`.

        Parameters
        ----------
        problem : CutProblem
            The same one gives the same answer.

        Returns
        -------
        (n,) int32 array
            The part of every vertex.
        """
        graph = problem.hypergraph
        weights, limits = problem.scaled()
        hypergraph = self._library.Hypergraph(
            graph.n_vertices,
            graph.n_nets,
            graph.net_start.tolist(),
            graph.pins.tolist(),
            problem.parts,
            graph.net_weight.tolist(),
            weights.tolist(),
        )
        for vertex in np.flatnonzero(graph.fixed != FREE).tolist():
            hypergraph.fixNodeToBlock(vertex, int(graph.fixed[vertex]))
        context = self._context(problem)
        if (limits == limits[0]).all():
            mean = -(-int(weights.sum()) // problem.parts)
            # Its limit is (1 + ε) · mean, rounded down.
            context.setEpsilon(int(limits[0]) / mean - 1 + 1e-9)
        else:
            context.setCustomTargetBlockWeights(limits.tolist())
        self._library.partition(hypergraph, context)
        blocks = [hypergraph.blockID(vertex) for vertex in range(graph.n_vertices)]
        return np.array(blocks, np.int32)

    def _context(self, problem: CutProblem) -> Any:
        vertices = problem.hypergraph.n_vertices
        runs = FEW_RUNS if vertices >= LARGE or vertices <= FEW_EACH * problem.parts else RUNS
        context = self._library.Context()
        with tempfile.NamedTemporaryFile("w", suffix=".ini") as file:
            options = CONFIGURATION | {"i-runs": runs}
            file.writelines(f"{name}={value}\n" for name, value in options.items())
            file.flush()
            context.loadINIconfiguration(file.name)
        context.setK(problem.parts)
        context.setSeed(problem.seed)
        context.suppressOutput(True)
        return context
