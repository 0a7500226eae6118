"""Small networks that tell the costs of a layer apart: many or few weights, rows, words. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy import sparse

from hpc.io.halo import Floats
from hpc.io.network import Layer
from hpc.io.plan import block_plan
from hpc.io.shard import Shard, build_shard

N_LAYERS = 12
"""So many that the weights of large layers fit no cache, as those of a network do not."""
ROWS = (128, 1024, 8192)
"""Of a layer on a rank, and that of 64 inputs: within a cache, within the next, and in none."""
BATCHES = (1, 16, 64, 256)
DEGREES = (4, 32)


@dataclass(frozen=True)
class Case:
    """Layers whose every rank holds `rows` rows of `degree` weights and sends `halo` to each.

    batch : inputs at a time.
    """

    rows: int
    degree: int
    halo: int
    batch: int


def cases() -> list[Case]:
    """Return the cases that are measured.

    Returns
    -------
    list of Case
        The same on all ranks, in the order of measuring.
    """
    return [
        Case(rows, degree, halo, batch)
        for rows, batch, degree in product(ROWS, BATCHES, DEGREES)
        for halo in (0, 16, rows // 2)
    ]


def case_shard(case: Case, size: int, rank: int) -> Shard:
    """Return the share of `rank` of a case's network cut for `size` ranks.

    Parameters
    ----------
    case : Case
        What the network is like; its weights are a function of it and of `size`.
    size : int
        Ranks.
    rank : int
        0..size - 1.

    Returns
    -------
    Shard
        Of N_LAYERS layers with float32 weights.
    """
    layers = [_layer(case, size, seed) for seed in range(N_LAYERS)]
    return build_shard(layers, block_plan([case.rows * size] * (N_LAYERS + 1), size), rank)


def _layer(case: Case, size: int, seed: int) -> Layer:
    """Return a layer: own columns at random, and the first `halo` columns of every other rank."""
    rng = np.random.default_rng(seed)
    n = case.rows * size
    dense_rows = np.arange(n)
    own = dense_rows // case.rows * case.rows
    columns = own[:, None] + rng.integers(0, case.rows, (n, case.degree))
    place = dense_rows % case.rows
    sharing = np.flatnonzero(place < case.halo)
    for step in range(1, size):
        peer = (own[sharing] // case.rows + step) % size
        columns[sharing, step % case.degree] = peer * case.rows + place[sharing]
    indptr = np.arange(n + 1) * case.degree
    values: Floats = rng.uniform(-0.1, 0.1, columns.size).astype(np.float32)
    weight = sparse.csr_array((values, columns.ravel(), indptr), shape=(n, n))
    weight.sum_duplicates()
    return Layer(weight, np.zeros(n, np.float32), "relu")
