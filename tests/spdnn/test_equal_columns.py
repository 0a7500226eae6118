"""Equal columns are computed once, and no bit of the answer changes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpc.io.halo import layer_traffic
from hpc.io.samples import create_samples
from hpc.io.shard import build_shard
from hpc.spdnn import equal_columns
from hpc.spdnn.equal_columns import EqualColumns, row_keys
from hpc.spdnn.inference import infer
from hpc.spdnn.looks import Looks
from hpc.spdnn.merge import fill_panels, kept_size, merge_of
from tests.spdnn.serial import random_layers, random_plan, serial_forward

SIZES = (30, 40, 35, 40, 30, 20)
N = 300


@given(st.lists(st.integers(0, 9), min_size=1, max_size=300), st.booleans())
def test_every_column_goes_to_one_like_it(values, filled):
    first = np.array([values.index(value) for value in values], np.int32)
    merge = merge_of(first)
    assert len(merge.kept) == len(set(values))
    if filled:
        merge = fill_panels(merge)
        assert len(merge.kept) == min(kept_size(len(set(values))), len(values))
    assert (np.diff(merge.kept) > 0).all()
    assert [values[merge.kept[where]] for where in merge.where] == values
    np.testing.assert_array_equal(merge.where[merge.kept], np.arange(len(merge.kept)))


@pytest.mark.parametrize(
    ("distinct", "kept"), [(1, 1), (2, 2), (3, 4), (17, 32), (33, 64), (64, 64), (65, 128)]
)
def test_sizes_to_go_on_with(distinct, kept):
    assert kept_size(distinct) == kept


def test_looks_grow_rare_where_they_find_nothing():
    looks, at, seen = Looks(100), 0, []
    while (at := looks.next_after(at)) < 100:
        seen.append(at)
        looks.saw(False)
    assert seen == [1, 2, 4, 8, 16, 32, 64]
    unseen = []
    for _ in range(12):
        looks.end_batch()
        unseen.append(looks.next_after(0) == 100)
        if not unseen[-1]:
            assert looks.next_after(0) == 50  # only probed
            looks.saw(False)
            assert looks.next_after(50) == 100
    assert unseen == [True, False, True, True, False, True, True, True, True, False, True, True]


def test_looks_are_frequent_again_after_a_probe_that_paid():
    looks = Looks(100)
    looks.saw(False)
    looks.end_batch()
    looks.end_batch()
    assert looks.next_after(0) == 50
    looks.saw(True)
    assert looks.next_after(50) == 51
    looks.end_batch()
    assert looks.next_after(0) == 1


def test_looks_stay_frequent_where_they_pay():
    looks = Looks(100)
    for at in range(20):
        assert looks.next_after(at) == at + 1
        looks.saw(True)
    looks.end_batch()
    assert looks.next_after(0) == 1


def test_keys_depend_on_the_global_row_alone():
    ids = np.array([7, 3, 900_000], np.int32)
    keys, again = row_keys(ids, np.float32), row_keys(ids[::-1].copy(), np.float32)
    np.testing.assert_array_equal(keys.reshape(2, 3)[:, ::-1], again.reshape(2, 3))
    assert len(set(row_keys(np.arange(1000, dtype=np.int32), np.float64).tolist())) == 2000


def panels_of(values, width):
    """Return (rows, columns) as (panels, rows, width)."""
    rows, columns = values.shape
    return np.ascontiguousarray(values.reshape(rows, columns // width, width).transpose(1, 0, 2))


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("panels", "width"), [(1, 1), (1, 7), (3, 64), (40, 64)])
@pytest.mark.parametrize("kinds", [1, 3, 50])
def test_what_is_found_is_what_numpy_finds(comm, dtype, panels, width, kinds):
    rng = np.random.default_rng(5)
    distinct = rng.normal(size=(37, kinds)).astype(dtype)
    distinct[:, 0] = 0
    whole = distinct[:, rng.integers(0, kinds, panels * width)]
    ids = np.arange(comm.rank, 37, comm.size).astype(np.int32)
    own = panels_of(whole[ids], width)
    merger = EqualColumns(comm, np.dtype(dtype))
    found = merger.find(own, ids)
    unique = len(np.unique(whole, axis=1).T)
    if kept_size(unique) > 0.85 * panels * width:
        assert found is None
        return
    assert len(found.kept) == unique
    np.testing.assert_array_equal(whole[:, found.kept][:, found.where], whole)
    target = np.full((3, len(ids) + 2, 64), np.nan, dtype)
    merger.gather(own, found.kept, target, 30)
    flat = target.transpose(1, 0, 2).reshape(len(ids) + 2, -1)
    np.testing.assert_array_equal(flat[: len(ids), 30 : 30 + unique], whole[ids][:, found.kept])
    assert np.isnan(flat[len(ids) :]).all() and np.isnan(flat[:, :30]).all()


@pytest.mark.mpi
def test_equal_hashes_do_not_suffice(comm, monkeypatch):
    """With keys of zero every column hashes alike; the comparison still tells them apart."""
    monkeypatch.setattr(equal_columns, "row_keys", lambda ids, dtype: np.zeros(2 * len(ids), dtype))
    whole = np.ones((comm.size, 64), np.float32)
    whole[-1, 10] = 2
    ids = np.array([comm.rank], np.int32)
    found = EqualColumns(comm, np.dtype(np.float32)).find(panels_of(whole[ids], 64), ids)
    np.testing.assert_array_equal(found.kept, [0, 10])
    np.testing.assert_array_equal(np.flatnonzero(found.where), [10])


@pytest.fixture
def inputs(comm, shared_tmp):
    """Return inputs of which many are equal, as an array and as a file."""
    rng = np.random.default_rng(3)
    distinct = rng.normal(size=(SIZES[0], 60)).astype(np.float32)
    x = distinct[:, rng.integers(0, 60, N)]
    x[:, rng.random(N) < 0.3] = 0
    path = shared_tmp / "x.h5"
    if comm.rank == 0:
        with create_samples(path, N, SIZES[0], "float32") as writer:
            writer.put_inputs(0, x)
    comm.Barrier()
    return x, path


@pytest.mark.mpi
@pytest.mark.parametrize("batch", [40, 128, 1000])
@pytest.mark.parametrize("activation", ["relu", "clipped-relu", "tanh", "sigmoid"])
def test_no_bit_changes(comm, inputs, batch, activation):
    x, path = inputs
    layers = random_layers(SIZES, 0.2, 4, np.float32, (activation,))
    shard = build_shard(layers, random_plan(SIZES, comm.size, 2), comm.rank)
    scores, found = {True: np.full((N, SIZES[-1]), np.nan), False: np.zeros((N, SIZES[-1]))}, {}
    for merge, table in scores.items():

        def keep(start, values, table=table):
            table[start : start + len(values)] = values

        infer(comm, shard, path, batch=batch, scores=keep, merge=merge)
        found[merge] = infer(comm, shard, path, batch=batch, merge=merge)
    if comm.rank == 0:
        np.testing.assert_array_equal(scores[True], scores[False])
        expected = serial_forward(layers, x)[-1].T
        np.testing.assert_allclose(scores[True], expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(found[True].categories, found[False].categories)
    assert (found[False].columns == N).all()
    if batch >= 128:
        assert found[True].columns[-1] < N / 2


@pytest.mark.mpi
@pytest.mark.parametrize("equal", [True, False])
def test_no_bit_of_a_sample_of_bits_depends_on_its_batch(comm, shared_tmp, equal):
    """Batches that are no multiple of 64 go through the same first layer as all others."""
    n, path = 200, shared_tmp / "bits.h5"
    x = np.random.default_rng(5).random((SIZES[0], n)) < 0.4
    if comm.rank == 0:
        with create_samples(path, n, SIZES[0], "bits") as writer:
            writer.put_inputs(0, x.astype(np.uint8))
    comm.Barrier()
    layers = random_layers(SIZES, 0.3, 4, np.float32, ("relu", "tanh"))
    if equal:
        layers[0].weight.data[:] = np.float32(0.1)  # counted, and no sum of it is exact
    shard = build_shard(layers, random_plan(SIZES, comm.size, 2), comm.rank)
    scores = []
    for merge, batch in (
        (True, 64),
        (False, 64),
        (False, 100),
        (False, 1),
        (True, 37),
        (False, 199),
    ):
        table = np.full((n, SIZES[-1]), np.nan)

        def keep(start, values, table=table):
            table[start : start + len(values)] = values

        infer(comm, shard, path, batch=batch, scores=keep, merge=merge)
        scores.append(table)
    if comm.rank == 0:
        expected = serial_forward(layers, x.astype(np.float64))[-1].T
        np.testing.assert_allclose(scores[0], expected, rtol=1e-3, atol=1e-5)
        for other in scores[1:]:
            np.testing.assert_array_equal(other, scores[0])


@pytest.mark.mpi
@pytest.mark.parametrize("merge", [True, False])
def test_counted_volume_is_the_plans_times_the_columns(comm, inputs, merge):
    layers = random_layers(SIZES, 0.2, 4, np.float32, ("relu",))
    plan = random_plan(SIZES, comm.size, 2)
    result = infer(comm, build_shard(layers, plan, comm.rank), inputs[1], batch=100, merge=merge)
    words = [
        layer_traffic(
            layer.weight.indptr, layer.weight.indices, plan.owners[k + 1], plan.owners[k], comm.size
        )[0].sum()
        for k, layer in enumerate(layers)
    ]
    assert result.counted.words_sent == result.counted.words_received
    assert result.counted.words_sent == np.dot(words, result.columns)
