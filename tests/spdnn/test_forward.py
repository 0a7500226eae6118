"""SpFF against a scipy loop, on irregular networks, free plans and odd batches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hpc.io.halo import layer_traffic
from hpc.io.plan import block_plan
from hpc.spdnn.kernels import kernel
from hpc.spdnn.levels import columns, panel_shape, set_columns
from tests.spdnn.serial import random_layers, random_plan, serial_forward
from tests.spdnn.share import forward_pass, run_forward

pytestmark = pytest.mark.mpi
ALL = ("relu", "clipped-relu", "sigmoid", "tanh", "identity")
KERNELS = ("scipy", "numba")


@pytest.mark.parametrize("batch", [1, 7, 130, 256, 1000])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", KERNELS)
def test_forward_is_the_serial_answer(comm, batch, dtype, name):
    sizes = (23, 17, 3, 29, 2, 11)
    layers = random_layers(sizes, 0.3, batch, dtype, ALL)
    plan = random_plan(sizes, comm.size, 5)
    x = np.random.default_rng(batch).uniform(-1, 1, (sizes[0], batch)).astype(dtype)
    mine, forward, shard = run_forward(comm, layers, plan, x, kernel(name))
    expected = serial_forward(layers, x)[-1][shard.ids[-1]]
    tolerance = 1e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(mine, expected, rtol=tolerance, atol=tolerance)
    forward.free()


@given(
    sizes=st.lists(st.integers(1, 12), min_size=2, max_size=5),
    density=st.floats(0, 1),
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 40),
    name=st.sampled_from(KERNELS),
)
@settings(max_examples=40)
def test_any_network_under_any_plan(comm, sizes, density, seed, batch, name):
    layers = random_layers(sizes, density, seed, np.float64, ALL)
    plan = random_plan(sizes, comm.size, seed + 1)
    x = np.random.default_rng(seed).normal(size=(sizes[0], batch))
    mine, forward, shard = run_forward(comm, layers, plan, x, kernel(name))
    expected = serial_forward(layers, x)[-1][shard.ids[-1]]
    np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-12)
    forward.free()


@pytest.mark.parametrize("name", KERNELS)
def test_the_same_pass_gives_the_same_bits_again(comm, name):
    sizes = (40, 50, 40, 30)
    layers = random_layers(sizes, 0.4, 3, np.float32, ("tanh",))
    plan = random_plan(sizes, comm.size, 3)
    x = np.random.default_rng(1).normal(size=(sizes[0], 96)).astype(np.float32)
    forward, shard = forward_pass(comm, layers, plan, 96, kernel(name))
    results = []
    for _ in range(5):
        set_columns(forward.levels[0], x[shard.ids[0]])
        results.append(columns(forward.run()))
    for again in results[1:]:
        np.testing.assert_array_equal(again, results[0])
    forward.free()


def test_counted_words_and_messages_are_the_predicted_ones(comm):
    sizes, batch = (30, 40, 20, 35), 48
    layers = random_layers(sizes, 0.2, 9)
    plan = random_plan(sizes, comm.size, 9)
    x = np.ones((sizes[0], batch))
    _, forward, _ = run_forward(comm, layers, plan, x)
    for k, exchange in enumerate(forward.exchanges):
        weight = layers[k].weight
        words, messages, _ = layer_traffic(
            weight.indptr, weight.indices, plan.owners[k + 1], plan.owners[k], comm.size
        )
        assert exchange.words_sent == words[comm.rank] * batch
        assert exchange.messages_sent == messages[comm.rank]
    received = comm.allreduce(sum(exchange.words_received for exchange in forward.exchanges))
    assert received == comm.allreduce(sum(e.words_sent for e in forward.exchanges))
    forward.free()


def test_more_ranks_than_rows_of_a_layer(comm):
    sizes = (1, 2, 1, 3)
    layers = random_layers(sizes, 1.0, 4, np.float64, ("identity",))
    plan = block_plan(sizes, comm.size)
    x = np.array([[2.0, -1.0]])
    mine, forward, shard = run_forward(comm, layers, plan, x)
    expected = serial_forward(layers, x)[-1][shard.ids[-1]]
    np.testing.assert_allclose(mine, expected, rtol=1e-13)
    forward.free()


@pytest.mark.parametrize("batch", [1, 2, 100, 128, 129, 251, 1000, 1024, 60000])
def test_panels_cover_the_batch_without_padding(batch):
    panels, width = panel_shape(batch)
    assert panels * width == batch
    assert panels == 1 or 16 <= width <= 128
