"""One layer cut at least volume, knowing who owns the level below."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from partition.asked import Asked
from partition.backends import Backend, CutProblem, Refined
from partition.balance import part_limits, spread
from partition.hypergraph import Blocks, Hypergraph, Longs, layer_hypergraph
from partition.inputs import fill_up
from partition.kahypar_cut import KaHyPar
from partition.mtkahypar_cut import MtKaHyPar
from partition.reduce import reduce_hypergraph
from partition.repair import repair

REFINED_VERTICES = 2000
"""Above, Mt-KaHyPar's refinement of KaHyPar's cuts gains nothing (benchmarks/)."""


def backend_of(asked: Asked) -> Backend:
    """Return the partitioner that the user asks for.

    Parameters
    ----------
    asked : Asked
        Its `backend`, `preset` and `threads`.

    Returns
    -------
    Backend
        KaHyPar's cuts are refined by Mt-KaHyPar up to REFINED_VERTICES.

    Raises
    ------
    InputError : it is not installed.
    """
    if asked.backend == "mtkahypar":
        return MtKaHyPar(asked.preset, asked.threads)
    return Refined(KaHyPar(), MtKaHyPar(threads=asked.threads), REFINED_VERTICES)


class LayerCut:
    """Cuts layers one by one, and mends layers that others have cut.

    Parameters
    ----------
    asked : Asked
        Parts and their shares, ε, seed and partitioner.

    Raises
    ------
    InputError : the partitioner is not installed.
    """

    def __init__(self, asked: Asked) -> None:
        self.parts = asked.parts
        self._asked = asked
        self._backend = backend_of(asked)

    def rows(
        self,
        pattern: sparse.csr_array,
        owners_in: Blocks | None,
        net_weight: Longs | None = None,
        limits: Longs | None = None,
    ) -> Blocks:
        """Return the owners of a layer's rows.

        The rows that have weights are cut; the empty ones even out how many each part has.

        Parameters
        ----------
        pattern : (n_out, n_in) CSR array
            The layer; only its pattern matters.
        owners_in : (n_in,) int32 array or None
            See `layer_hypergraph`.
        net_weight : (n_in,) int64 array or None
            See `layer_hypergraph`.
        limits : (P,) int64 array or None
            The most weight of each part; None for those that `limits` gives for these rows.

        Returns
        -------
        (n_out,) int32 array
            Within the limits, or as even as was found.
        """
        owners = np.full(pattern.shape[0], -1, np.int32)
        filled = np.flatnonzero(np.diff(pattern.indptr))
        if len(filled):
            weights = row_weights(pattern[filled])
            full = layer_hypergraph(pattern[filled], owners_in, self.parts, net_weight)
            most = self.limits(weights) if limits is None else limits
            owners[filled] = self._cut(full, weights, most)
        return fill_up(owners, self._asked.parts)

    def solve(self, graph: Hypergraph, limits: Longs) -> Blocks:
        """Give a reduced hypergraph to the partitioner.

        Parameters
        ----------
        graph : Hypergraph
            n vertices.
        limits : (P,) int64 array
            The most weight of each part; P is their number, which need not be `parts`.

        Returns
        -------
        (n,) int32 array
            The part of every vertex; 0 where P is 1.
        """
        if len(limits) == 1:
            return np.zeros(graph.n_vertices, np.int32)
        return self._backend.cut(CutProblem(graph, limits, self._asked.seed))

    def limits(self, weights: Longs) -> Longs:
        """Return how much of rows of these weights each part may hold.

        Parameters
        ----------
        weights : (n,) int64 array
            Nonzeros of the rows.

        Returns
        -------
        (P,) int64 array
            See `part_limits`.
        """
        return part_limits(weights, self._asked.shares, self._asked.epsilon)

    def mended(self, pattern: sparse.csr_array, owners: Blocks, owners_in: Blocks | None) -> Blocks:
        """Return owners of the rows of a layer within its limits, few of them changed.

        Parameters
        ----------
        pattern : (n_out, n_in) CSR array
            The layer; only its pattern matters.
        owners : (n_out,) int32 array
            Of the rows; left as they are.
        owners_in : (n_in,) int32 array or None
            Of the columns, see `layer_hypergraph`.

        Returns
        -------
        (n_out,) int32 array
            Within the limits, or as even as was found.
        """
        filled = np.flatnonzero(np.diff(pattern.indptr))
        if not len(filled):
            return owners
        parts = self._asked.parts
        full = layer_hypergraph(pattern[filled], owners_in, parts)
        fixed = np.arange(full.n_vertices - len(filled), dtype=np.int32)
        blocks = np.concatenate((owners[filled], fixed))
        mended = owners.copy()
        mended[filled] = repair(full, blocks, self.limits(row_weights(pattern)))[: len(filled)]
        return mended

    def _cut(self, full: Hypergraph, weights: Longs, limits: Longs) -> Blocks:
        reduced = reduce_hypergraph(full, limits)
        if len(limits) == 1 or not reduced.hypergraph.n_nets:
            return spread(weights, self._asked.shares)
        blocks = reduced.expand(self.solve(reduced.hypergraph, limits))
        return repair(full, blocks, limits)[: len(weights)]


def row_weights(pattern: sparse.csr_array) -> Longs:
    """Return the nonzeros of each row, (n_out,) int64.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR array
        A layer.

    Returns
    -------
    (n_out,) int64 array
        What each row weighs in the balance.
    """
    return np.diff(pattern.indptr).astype(np.int64)


def heaviest_excess(pattern: sparse.csr_array, owners: Blocks, limits: Longs) -> int:
    """Return by how many weights the part most above its limit is, 0 if none is.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR array
        A layer.
    owners : (n_out,) int32 array
        Of its rows.
    limits : (P,) int64 array
        The most weight of each part.

    Returns
    -------
    int
        Weights; 0 where every part is within its limit.
    """
    loads = np.bincount(owners, weights=np.diff(pattern.indptr), minlength=len(limits))
    return int(max((loads - limits).max(), 0))
