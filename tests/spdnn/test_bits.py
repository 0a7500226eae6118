"""A first layer straight from bits gives what the same inputs give as numbers."""

import numpy as np
import pytest

from hpc.io.halo import Part
from hpc.io.samples import create_samples
from hpc.io.shard import build_shard
from hpc.spdnn import bits_sum
from hpc.spdnn.inference import infer
from hpc.spdnn.kernels import Weights, kernel
from tests.spdnn.serial import random_layers, random_plan, serial_forward

SIZES = (45, 30, 20)


@pytest.fixture(params=["look-up", "masks", "counts"])
def way(request, monkeypatch):
    """Multiply by table look-up, where the host can, by masks as other hosts do, or count."""
    if request.param == "masks":
        none = type(bits_sum.binding.get_host_cpu_features())
        monkeypatch.setattr(bits_sum.binding, "get_host_cpu_features", none)
    return request.param


@pytest.mark.parametrize("first", range(8))
@pytest.mark.parametrize("columns", [1, 63, 64, 65, 121, 128, 200])
def test_words_are_the_stored_bits(first, columns):
    rng = np.random.default_rng(columns)
    bits = rng.random((11, first + columns + 13)) < 0.5
    raw = np.packbits(bits, axis=1, bitorder="little")
    panels = -(-columns // 64)
    words = np.full((panels, 14, 1), 7, np.uint64)
    bits_sum.fill_words(raw, first, columns, words)
    wanted = np.zeros((11, panels * 64), np.uint8)
    wanted[:, :columns] = bits[:, first : first + columns]
    back = np.ascontiguousarray(words[:, :11, 0].T).view(np.uint8)
    np.testing.assert_array_equal(np.unpackbits(back, axis=1, bitorder="little"), wanted)
    assert (words[:, 11:] == 7).all()


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("batch", "merge"), [(64, True), (100, True), (300, True), (128, False)])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_inference_from_bits(comm, shared_tmp, way, dtype, batch, merge, activation):
    n, rng = 300, np.random.default_rng(batch)
    x = (rng.random((SIZES[0], n)) < 0.3).astype(np.uint8)
    path = shared_tmp / "bits.h5"
    if comm.rank == 0:
        with create_samples(path, n, SIZES[0], "bits") as writer:
            writer.put_inputs(0, x)
    comm.Barrier()
    layers = random_layers(SIZES, 0.3, 4, dtype, (activation,))
    if way == "counts":
        layers[0].weight.data[:] = 0.3
    shard = build_shard(layers, random_plan(SIZES, comm.size, 2), comm.rank)
    scores = np.full((n, SIZES[-1]), np.nan)

    def keep(start, values):
        scores[start : start + len(values)] = values

    found = infer(comm, shard, path, batch=batch, scores=keep, merge=merge)
    assert found.counted.words_sent == found.counted.words_received
    if comm.rank == 0:
        expected = serial_forward(layers, x.astype(dtype))[-1].T
        tolerance = 1e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(scores, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.mpi
def test_merging_changes_no_bit_of_inputs_from_bits(comm, shared_tmp):
    n, rng = 640, np.random.default_rng(1)
    x = (rng.random((SIZES[0], 40)) < 0.3)[:, rng.integers(0, 40, n)]
    path = shared_tmp / "bits.h5"
    if comm.rank == 0:
        with create_samples(path, n, SIZES[0], "bits") as writer:
            writer.put_inputs(0, x)
    comm.Barrier()
    layers = random_layers(SIZES, 0.3, 4, np.float32, ("relu",))
    shard = build_shard(layers, random_plan(SIZES, comm.size, 2), comm.rank)
    tables = {}
    for merge in (True, False):
        table = tables[merge] = np.full((n, SIZES[-1]), np.nan)

        def keep(start, values, table=table):
            table[start : start + len(values)] = values

        infer(comm, shard, path, batch=320, scores=keep, merge=merge)
    np.testing.assert_array_equal(tables[True], tables[False])


@pytest.mark.parametrize("degree", range(10))
def test_rows_of_every_length(degree):
    """Four weights at a time, and what is left one by one."""
    from hpc.spdnn.compiled import loops

    rng = np.random.default_rng(degree)
    indices = np.concatenate([rng.permutation(20)[:degree] for _ in range(6)]).astype(np.int32)
    data = rng.normal(size=6 * degree).astype(np.float32)
    indptr = np.arange(7, dtype=np.int32) * degree
    weights = Weights(Part(0, np.arange(6, dtype=np.int32), indptr, indices, data))
    words = rng.integers(0, 2**63, (3, 20)).astype(np.uint64)
    bits = np.unpackbits(words.view(np.uint8).reshape(3, 20, 8), axis=2, bitorder="little")
    expected = np.empty((3, 6, 64), np.float32)
    for panel in range(3):
        kernel("numba").multiply(weights, bits[panel].astype(np.float32), expected[panel])
    bias = rng.normal(size=6).astype(np.float32)
    last = np.ones(6, np.uint8)
    output = weights.rows, last, bias, 0.0, 1.0, False
    for name in ("lookup_loops", "bit_loops"):
        if name == "lookup_loops" and not bits_sum.binding.get_host_cpu_features().get("avx512f"):
            continue
        z = np.full((3, 6, 64), np.nan, np.float32)
        loops(f"hpc.spdnn.{name}", np.dtype(np.float32)).multiply(
            weights.csr, output, words.reshape(-1), 20, z.reshape(-1), 6 * 64, (0, 3), (0, 20),
            np.empty(320, np.uint32),
        )  # fmt: skip
        close = np.clip(expected + bias[None, :, None], 0, 1)
        np.testing.assert_allclose(z, close, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", [0, 1, 2, 3, 4, 5, 7, 8, 31, 32, 62, 63])
@pytest.mark.parametrize("panels", [1, 3, 4, 6])
def test_equal_weights_are_counted(dtype, degree, panels):
    """Every number of weights and of panels left over, and a product that is added to."""
    from hpc.spdnn.compiled import loops

    rng = np.random.default_rng(degree)
    indices = np.concatenate([rng.permutation(80)[:degree] for _ in range(6)]).astype(np.int32)
    scales = rng.normal(size=6).astype(dtype)
    indptr = np.arange(7, dtype=np.int32) * degree
    weights = Weights(
        Part(0, np.arange(6, dtype=np.int32), indptr, indices, np.repeat(scales, degree))
    )
    assert bits_sum.countable(weights)
    words = rng.integers(0, 2**64, (panels, 80), dtype=np.uint64)
    bits = np.unpackbits(words.view(np.uint8).reshape(panels, 80, 8), axis=2, bitorder="little")
    dense = np.zeros((6, 80))
    np.add.at(dense, (np.repeat(np.arange(6), degree), indices), np.repeat(scales, degree))
    before = rng.normal(size=(panels, 6, 64)).astype(dtype)
    bias = rng.normal(size=6).astype(dtype)
    for add_to in (False, True):
        z = before.copy()
        output = weights.rows, np.array([1, 0, 1, 1, 0, 1], np.uint8), bias, -1.0, 9.0, add_to
        loops("hpc.spdnn.count_loops", np.dtype(dtype)).multiply(
            weights.csr, output, words.reshape(-1), 80, z.reshape(-1), 6 * 64, (0, panels),
            (0, 80), np.empty(16 * 80, np.uint32),
        )  # fmt: skip
        wanted = dense @ bits + (before if add_to else 0)
        done = output[1].astype(bool)
        wanted[:, done] = np.clip(wanted[:, done] + bias[done, None], -1, 9)
        tolerance = 1e-5 if dtype is np.float32 else 1e-12
        np.testing.assert_allclose(z, wanted, rtol=tolerance, atol=tolerance)


def test_only_rows_of_few_equal_weights_are_counted():
    def weights(data, indptr):
        part = Part(0, np.arange(len(indptr) - 1), np.array(indptr), np.arange(len(data)), data)
        return Weights(part)

    assert bits_sum.countable(weights(np.array([2.0, 2.0, 3.0]), [0, 2, 2, 3]))
    assert not bits_sum.countable(weights(np.array([2.0, 2.0, 3.0]), [0, 1, 1, 3]))
    assert not bits_sum.countable(weights(np.ones(64), [0, 64]))
    assert bits_sum.countable(weights(np.ones(0), [0, 0]))
