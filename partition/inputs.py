"""Who holds the input vector x^0: a part that needs the input anyway. Pure."""

from __future__ import annotations

import heapq

import numpy as np
from scipy import sparse

from hpc.io.halo import needing_ranks
from partition.hypergraph import Blocks


def input_owners(pattern: sparse.csr_array, owners_out: Blocks, parts: int) -> Blocks:
    """Return the owner of each input after the first layer's rows were cut.

    An input then costs λ - 1 words and no more (paper: "the input vector's owners follow
    from the first layer"). Of the parts that need it, the one with the fewest words to send
    so far takes it; inputs that no row needs even out how many inputs each part holds.

    Parameters
    ----------
    pattern : (n_1, n_0) CSR of the first layer.
    owners_out : (n_1,) owner of each row.
    parts : ranks, P.

    Returns
    -------
    (n_0,) int32.
    """
    needs = needing_ranks(
        pattern.indptr.astype(np.int64), pattern.indices, owners_out, pattern.shape[1], parts
    ).tocsc()
    connectivity = np.diff(needs.indptr)
    owners = np.full(pattern.shape[1], -1, np.int32)
    words, held = np.zeros(parts, np.int64), np.zeros(parts, np.int64)
    for column in np.argsort(-connectivity, kind="stable"):
        able = needs.indices[needs.indptr[column] : needs.indptr[column + 1]]
        if not len(able):
            break
        chosen = able[np.lexsort((able, held[able], words[able]))[0]]
        owners[column] = chosen
        words[chosen] += len(able) - 1
        held[chosen] += 1
    return fill_up(owners, parts)


def fill_up(owners: Blocks, parts: int) -> Blocks:
    """Return `owners` with each -1 given to the part that owns the fewest by then.

    Parameters
    ----------
    owners : (n,) int32, -1 where there is none yet.
    parts : ranks, P.

    Returns
    -------
    (n,) int32.
    """
    filled = owners.copy()
    held = np.bincount(owners[owners >= 0], minlength=parts)
    heap = [(int(count), part) for part, count in enumerate(held)]
    heapq.heapify(heap)
    for neuron in np.flatnonzero(owners < 0):
        count, part = heap[0]
        filled[neuron] = part
        heapq.heapreplace(heap, (count + 1, part))
    return filled
