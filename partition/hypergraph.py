"""The hypergraph of one layer: what a cut of it costs in words. Pure.

Paper: sparse-dnn-partitioning, the multi-phase model. A vertex is a row of W^k
(a neuron of level k) and weighs its nonzeros; a net is a column (a neuron of
level k-1) and connects the rows that need it with the fixed vertex that stands
for the column's owner. The connectivity cut, the sum over nets of (λ - 1), is
then the volume of the layer in words.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

Longs = npt.NDArray[np.int64]
Blocks = npt.NDArray[np.int32]
FREE = -1
"""In `Hypergraph.fixed`: this vertex may go to any part."""


@dataclass(frozen=True)
class Hypergraph:
    """Nets over weighted vertices, some of them fixed to a part.

    net_start : (m+1,) int64; pins : int32, the vertices of net i are
        pins[net_start[i]:net_start[i+1]].
    vertex_weight : (n,) int64, 0 for fixed vertices. net_weight : (m,) int64.
    fixed : (n,) int32, the part of a fixed vertex, else FREE.
    """

    net_start: Longs
    pins: npt.NDArray[np.int32]
    vertex_weight: Longs
    net_weight: Longs
    fixed: Blocks

    @property
    def n_vertices(self) -> int:
        """Number of vertices, fixed ones included."""
        return len(self.vertex_weight)

    @property
    def n_nets(self) -> int:
        """Number of nets."""
        return len(self.net_weight)

    def incidence(self) -> sparse.csr_array:
        """Return which net has which vertex.

        Returns
        -------
        (m, n) CSR array of int32 ones
            Nets by vertices.
        """
        ones = np.ones(len(self.pins), np.int32)
        shape = (self.n_nets, self.n_vertices)
        return sparse.csr_array((ones, self.pins, self.net_start), shape=shape)


def layer_hypergraph(
    pattern: sparse.csr_array,
    owners_in: Blocks | None,
    parts: int,
    net_weight: Longs | None = None,
) -> Hypergraph:
    """Return the hypergraph of one layer.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR array
        The layer; only its pattern matters.
    owners_in : (n_in,) int32 array or None
        Owner of each column, FREE where none of the parts owns it; None in the first layer, whose
        inputs will lie where the cut wants them: no fixed vertices then.
    parts : int
        P.
    net_weight : (n_in,) int64 array or None
        Price of a column's words; 1 where None.

    Returns
    -------
    Hypergraph
        Vertices 0..n_out-1 are the rows; n_out..n_out+P-1, where there are owners, the parts.
    """
    n_out, n_in = pattern.shape
    nets = pattern.tocsc()
    net_start, pins = nets.indptr.astype(np.int64), nets.indices.astype(np.int32)
    weight = np.diff(pattern.indptr).astype(np.int64)
    fixed = np.full(n_out, FREE, np.int32)
    if owners_in is not None:  # the owner's vertex is the last pin of its net
        known = owners_in != FREE
        pins = np.insert(pins, net_start[1:][known], n_out + owners_in[known])
        net_start = net_start + np.concatenate(([0], np.cumsum(known)))
        weight = np.concatenate((weight, np.zeros(parts, np.int64)))
        fixed = np.concatenate((fixed, np.arange(parts, dtype=np.int32)))
    price = np.ones(n_in, np.int64) if net_weight is None else net_weight
    return Hypergraph(net_start, pins, weight, price, fixed)


def connectivity_cut(hypergraph: Hypergraph, blocks: Blocks) -> int:
    """Return the sum over nets of weight · (λ - 1): the volume in words.

    Paper: sparse-dnn-partitioning, its equation 1.

    Parameters
    ----------
    hypergraph : Hypergraph
        m nets over n vertices.
    blocks : (n,) int32 array
        Part of every vertex, fixed ones included.

    Returns
    -------
    int
        Words, for one input.
    """
    net_of = np.repeat(np.arange(hypergraph.n_nets), np.diff(hypergraph.net_start))
    span = int(blocks.max(initial=0)) + 1
    touched = np.unique(net_of * span + blocks[hypergraph.pins]) // span
    connectivity = np.bincount(touched, minlength=hypergraph.n_nets)
    return int((hypergraph.net_weight * np.maximum(connectivity - 1, 0)).sum())


def part_loads(hypergraph: Hypergraph, blocks: Blocks, parts: int) -> Longs:
    """Return the weight of each part: (P,) int64.

    Parameters
    ----------
    hypergraph : Hypergraph
        Over n vertices; fixed ones weigh 0.
    blocks : (n,) int32 array
        Part of every vertex.
    parts : int
        P.

    Returns
    -------
    (P,) int64 array
        Weight of each part.
    """
    return np.bincount(blocks, weights=hypergraph.vertex_weight, minlength=parts).astype(np.int64)
