"""Which neurons of two consecutive levels share an owner in a window. Pure."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import maximum_bipartite_matching

from hpc.io.halo import needing_ranks
from partition.hypergraph import Blocks, Longs
from partition.window import NONE

DIAGONAL_SHARE = 0.5
"""So many rows must need the input of their own number, or numbers say nothing."""
LOCAL_SHARE = 0.7
"""So many columns must cost nothing in the first pass: there is a neighbourhood to extend."""


def partners(pattern: sparse.csr_array, above: Blocks, below: Blocks) -> Longs | None:
    """Return the neuron of the level below that each row shares its owner with.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR of the layer between the levels.
    above, below : (n_out,), (n_in,), owners in a first pass.

    Returns
    -------
    (n_out,) int64, each neuron at most once, NONE for rows without; None where a window over
    this layer promises nothing.
    """
    if _diagonal_share(pattern) >= DIAGONAL_SHARE:
        return np.arange(pattern.shape[0])
    if _local_share(pattern, above, below) >= LOCAL_SHARE:
        return _within_parts(pattern, above, below)
    return None


def _diagonal_share(pattern: sparse.csr_array) -> float:
    if pattern.shape[0] != pattern.shape[1]:
        return 0.0
    return float((pattern.diagonal() != 0).mean())


def _local_share(pattern: sparse.csr_array, above: Blocks, below: Blocks) -> float:
    """Return the share of columns that are needed, and by their owner only."""
    parts = 1 + int(max(above.max(), below.max()))
    indptr = pattern.indptr.astype(np.int64)
    needs = needing_ranks(indptr, pattern.indices, above, len(below), parts).tocsc()
    alone = np.flatnonzero(np.diff(needs.indptr) == 1)
    return float((needs.indices[needs.indptr[alone]] == below[alone]).sum() / len(below))


def _within_parts(pattern: sparse.csr_array, above: Blocks, below: Blocks) -> Longs:
    """Pair rows with inputs of the same part: first those that need each other, then any."""
    row = np.repeat(np.arange(pattern.shape[0]), np.diff(pattern.indptr))
    local = above[row] == below[pattern.indices]
    ones = np.ones(int(local.sum()), np.int8)
    needed = sparse.csr_array((ones, (row[local], pattern.indices[local])), shape=pattern.shape)
    partner = maximum_bipartite_matching(needed, perm_type="column").astype(np.int64)
    rows = np.flatnonzero(partner == NONE)
    taken = np.zeros(len(below), bool)
    taken[partner[partner != NONE]] = True
    inputs = np.flatnonzero(~taken)
    return _paired_in_order(partner, rows, above[rows], inputs, below[inputs])


def _paired_in_order(
    partner: Longs, rows: Longs, row_part: Blocks, inputs: Longs, input_part: Blocks
) -> Longs:
    """Give the i-th row left in a part the i-th input left there."""
    row_key, input_key = _keys(row_part), _keys(input_part)
    _, at_row, at_input = np.intersect1d(row_key, input_key, return_indices=True)
    paired = partner.copy()
    paired[rows[at_row]] = inputs[at_input]
    return paired


def _keys(part: Blocks) -> Longs:
    """Return a number for each entry: distinct, the same for the i-th of the same part."""
    order = np.argsort(part, kind="stable")
    place = np.empty(len(part), np.int64)
    count = np.bincount(part)
    place[order] = np.arange(len(part)) - np.repeat(np.cumsum(count) - count, count)
    return part.astype(np.int64) * (1 << 32) + place
