"""Products are added in rank order, whatever the order of arrival and the room for early ones."""

import itertools

import numpy as np
import pytest

from hpc.io.halo import Part
from hpc.spdnn.kernels import ScipyKernel, Weights
from hpc.spdnn.ordered_sum import OrderedSum
from tests.spdnn.serial import random_layers

PANELS, N_OUT, WIDTH = 3, 9, 5


def parts_of(weight):
    """Cut the columns in four parts, each with the rows that it touches."""
    parts = []
    for source in range(4):
        columns = np.arange(weight.shape[1]) % 4 == source
        some = weight.multiply(columns[None, :]).tocsr()
        some.eliminate_zeros()
        rows = np.flatnonzero(np.diff(some.indptr)).astype(np.int32)
        kept = some[rows]
        parts.append(Weights(Part(source, rows, kept.indptr, kept.indices, kept.data)))
    return parts


@pytest.mark.parametrize("room", [0, 1, 2, 4])
def test_every_order_of_arrival_gives_the_same_bits(room):
    weight = random_layers((12, N_OUT), 0.5, 3, np.float32)[0].weight
    parts = parts_of(weight)
    x = np.random.default_rng(1).normal(size=(PANELS, 12, WIDTH)).astype(np.float32)
    store = np.empty(room * PANELS * N_OUT * WIDTH, np.float32)
    scratch = np.empty(2 * N_OUT * WIDTH, np.float32)
    results = []
    for order in itertools.permutations(range(4)):
        z = np.zeros((PANELS, N_OUT, WIDTH), np.float32)
        total = OrderedSum(ScipyKernel(), parts, x, z, store, scratch)
        for _ in range(2):
            z[...] = 0
            total.restart()
            for index in order:
                total.take(index)
        results.append(z)
    expected = np.stack([weight @ panel for panel in x])
    np.testing.assert_allclose(results[0], expected, rtol=1e-5, atol=1e-6)
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
