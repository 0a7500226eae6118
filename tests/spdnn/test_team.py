"""Threads of a rank: the pieces, and the same bits however many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from hpc.io.errors import InputError
from hpc.io.plan import block_plan
from hpc.io.shard import build_shard
from hpc.spdnn import team as teams
from hpc.spdnn.bits_sum import BitsSum
from hpc.spdnn.fused_sum import FusedSum
from hpc.spdnn.kernels import SampledOuter, Weights
from hpc.spdnn.numba_kernel import NumbaKernel
from hpc.spdnn.team import Team, pieces
from tests.spdnn.serial import random_layers

SIZES = (70, 90)


@pytest.fixture
def eager(monkeypatch):
    """Let even small products be shared."""
    monkeypatch.setattr(teams, "LEAST_WORK", 1)


@given(st.integers(0, 30), st.integers(0, 40), st.integers(1, 9))
def test_pieces_cover_a_span(first, length, parts):
    spans = pieces((first, first + length), parts)
    assert [i for a, b in spans for i in range(a, b)] == list(range(first, first + length))
    assert len(spans) == max(1, min(parts, length))


def test_little_work_stays_on_one_thread():
    called = []
    Team(4).run(lambda first, stop: called.append((first, stop)), (0, 9), teams.LEAST_WORK)
    assert called == [(0, 9)]
    with pytest.raises(InputError, match="--threads 0"):
        Team(0)


@pytest.mark.usefixtures("eager")
def test_what_a_thread_raises_is_raised():
    def piece(first, stop):
        if first:
            raise RuntimeError("in a thread")

    with pytest.raises(RuntimeError, match="in a thread"):
        Team(2).run(piece, (0, 9), 1e9)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("threads", [2, 3])
def test_products_and_gradients(dtype, threads):
    (layer,) = random_layers(SIZES, 0.2, 3, dtype, ("relu",))
    shard = build_shard([layer], block_plan(SIZES, 1), 0)
    weights = Weights(shard.layers[0].core)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(3, 70, 16)).astype(dtype)
    delta = rng.normal(size=(3, 90, 16)).astype(dtype)
    found = []
    for kernel in (NumbaKernel(), NumbaKernel(threads)):
        out, back = np.empty((90, 16), dtype), np.zeros((70, 16), dtype)
        values = np.zeros(len(weights.data), dtype)
        kernel.multiply(weights, x[0], out)
        kernel.add_transposed(weights, delta[0], back)
        kernel.add_gradient(SampledOuter(weights, values), delta, x)
        found.append((out, back, values))
    for alone, shared in zip(*found, strict=True):
        np.testing.assert_array_equal(shared, alone)
    np.testing.assert_allclose(found[1][0], layer.weight @ x[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[1][1], layer.weight.T @ delta[0], rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("threads", [2, 3, 5])
@pytest.mark.parametrize("panels", [1, 2, 7, 13])
def test_whole_layers(threads, panels):
    """Rows are shared where panels are few, panels where they are many; bits likewise."""
    (layer,) = random_layers(SIZES, 0.2, 3, np.float32, ("relu",))
    shard = build_shard([layer], block_plan(SIZES, 1), 0)
    planned, weights = shard.layers[0], [Weights(shard.layers[0].core)]
    words = np.random.default_rng(panels).integers(0, 2**64, (panels, 70, 1), dtype=np.uint64)
    bits = np.unpackbits(words.view(np.uint8), axis=2, bitorder="little").astype(np.float32)
    empty = np.empty(0, np.float32)
    weight = sparse.csr_array(layer.weight)
    for kind, x in ((FusedSum, bits), (BitsSum, words)):
        found = []
        for count in (1, threads):
            z = np.full((panels, 90, 64), np.nan, np.float32)
            levels = (x, z)
            summed = kind(NumbaKernel(count), planned, weights, planned.bias, levels, empty, empty)
            summed.multiply_core(lambda: None)
            summed.finish()
            found.append(z)
        np.testing.assert_array_equal(*found)
        for panel in range(panels):
            wanted = np.maximum(weight @ bits[panel] + layer.bias[:, None], 0)
            np.testing.assert_allclose(found[0][panel], wanted, rtol=1e-4, atol=1e-5)
