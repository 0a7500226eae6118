"""What one layer costs each pair of ranks, and what each rank holds of it. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from hpc.io.halo import layer_pairs
from partition.hypergraph import Blocks, Longs


@dataclass(frozen=True)
class Load:
    """One layer, forward, for one input.

    links : (P, P) words from sender to receiver, 0 on the diagonal. edges, rows : (P,) held.
    """

    links: Longs
    edges: Longs
    rows: Longs


def layer_load(pattern: sparse.csr_array, above: Blocks, below: Blocks, parts: int) -> Load:
    """Return the load of a layer.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR array
        The layer; only its pattern matters.
    above : (n_out,) int32 array
        Owners of the rows.
    below : (n_in,) int32 array
        Owners of the columns.
    parts : int
        P.

    Returns
    -------
    Load
        Words of each pair of ranks, weights and rows of each rank.
    """
    indptr = pattern.indptr.astype(np.int64)
    sender, receiver, _ = layer_pairs(indptr, pattern.indices, above, below, parts)
    links = np.bincount(sender * parts + receiver, minlength=parts * parts)
    edges = np.bincount(above, weights=np.diff(indptr), minlength=parts).astype(np.int64)
    return Load(links.reshape(parts, parts), edges, np.bincount(above, minlength=parts))
