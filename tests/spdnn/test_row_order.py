"""Renumbering a rank's rows changes no weight, no word on the wire and no answer."""

import copy
from itertools import pairwise

import numpy as np
import pytest

from hpc.io.shard import build_shard, build_shards
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.forward import plan_forward
from hpc.spdnn.kernels import kernel
from hpc.spdnn.levels import columns, set_columns, turning_levels
from hpc.spdnn.row_order import reorder, row_order
from hpc.spdnn.runtime import Runtime, layer_weights
from hpc.spdnn.save import global_rows
from tests.spdnn.serial import random_layers, random_plan, serial_forward

SIZES = (23, 17, 5, 29, 11)


def rows_of(layer, own, ids):
    """Return the layer's rows by global number: (columns, weights, bias)."""
    values = np.concatenate([part.data for part in (layer.core, *layer.parts)])
    rows = global_rows(layer, own, values, layer.bias)
    bounds = zip(rows.indptr, rows.indptr[1:], strict=False)
    return {
        int(row): (rows.indices[a:b].tolist(), rows.data[a:b].tolist(), float(bias))
        for row, (a, b), bias in zip(ids, bounds, rows.bias, strict=True)
    }


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_weights_and_messages_stay(parts):
    layers = random_layers(SIZES, 0.3, parts)
    plan = random_plan(SIZES, parts, 3)
    for before in build_shards(layers, plan, range(parts)):
        after = copy.deepcopy(before)
        reorder(after)
        np.testing.assert_array_equal(after.ids[0], before.ids[0])
        for k, (old, new) in enumerate(zip(before.layers, after.layers, strict=True)):
            assert rows_of(new, after.ids[k], after.ids[k + 1]) == rows_of(
                old, before.ids[k], before.ids[k + 1]
            )
            for (peer, then), (same, now) in zip(old.sends, new.sends, strict=True):
                assert peer == same
                np.testing.assert_array_equal(before.ids[k][then], after.ids[k][now])
            for part in new.parts:
                assert (np.diff(part.rows) > 0).all()


def test_rows_with_the_same_columns_become_neighbours():
    rng = np.random.default_rng(2)
    sizes = (40, 30, 30)
    layers = random_layers(sizes, 0.3, 1)
    for layer in layers:
        pattern = layer.weight[rng.integers(0, 5, 30)]
        layer.weight.indptr, layer.weight.indices = pattern.indptr, pattern.indices
        layer.weight.data = pattern.data
    shard = build_shard(layers, random_plan(sizes, 1, 0), 0)
    reorder(shard)
    for layer in shard.layers:
        pieces = np.split(layer.core.indices, layer.core.indptr[1:-1])
        changes = sum(a.tolist() != b.tolist() for a, b in pairwise(pieces))
        assert changes <= 4
    again = row_order(shard.layers[0])
    np.testing.assert_array_equal(again, np.arange(30))


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["scipy", "numba"])
def test_the_answer_stays(comm, name):
    layers = random_layers(SIZES, 0.3, 6, np.float64, ("relu", "tanh", "clipped-relu"))
    shard = build_shard(layers, random_plan(SIZES, comm.size, 8), comm.rank)
    reorder(shard)
    x = np.random.default_rng(4).normal(size=(SIZES[0], 70))
    runtime = Runtime(comm, kernel(name), Stopwatch())
    biases = [layer.bias for layer in shard.layers]
    levels = turning_levels(shard, 70, shard.dtype)
    forward = plan_forward(runtime, shard, layer_weights(shard), biases, levels)
    set_columns(forward.levels[0], x[shard.ids[0]])
    expected = serial_forward(layers, x)[-1][shard.ids[-1]]
    np.testing.assert_allclose(columns(forward.run()), expected, rtol=1e-12, atol=1e-12)
    forward.free()
