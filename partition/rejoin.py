"""Go back from other owners of a level to a first pass, its parts renamed. Pure.

Renaming all parts of a first pass from some layer on changes none of its words
above that layer, so only the layer between is paid anew.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import linear_sum_assignment

from hpc.io.halo import needing_ranks
from partition.balance import Shares
from partition.hypergraph import Blocks


def renaming(pattern: sparse.csr_array, above: Blocks, below: Blocks, shares: Shares) -> Blocks:
    """Return the new name of each part of `above` that makes the layer cheapest.

    A column's word to its own owner is saved, so the sum of saved words is maximised: an
    assignment problem. Parts change names only with parts of the same share.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR array
        The layer; only its pattern matters.
    above : (n_out,) int32 array
        Owners of the rows in the first pass.
    below : (n_in,) int32 array
        Owners of the columns, not those of the first pass.
    shares : (P,) float64 array
        Of the parts.

    Returns
    -------
    (P,) int32 array
        A permutation of 0..P-1.
    """
    parts = len(shares)
    indptr = pattern.indptr.astype(np.int64)
    needs = needing_ranks(indptr, pattern.indices, above, len(below), parts)
    member = sparse.csr_array(
        (np.ones(len(below), np.float32), (np.arange(len(below)), below)),
        shape=(len(below), parts),
    )
    needs.data[:] = 1
    saved = (needs @ member).toarray()
    saved[shares[:, None] != shares[None, :]] = -float(pattern.shape[1]) * parts
    name = np.empty(parts, np.int32)
    old, new = linear_sum_assignment(saved, maximize=True)
    name[old] = new
    return name
