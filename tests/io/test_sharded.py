"""The sharded file: what is written comes back, rank by rank, and damage is found."""

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hpc.io.errors import FormatError, InputError
from hpc.io.flat_shard import FLAT, check_lists, flatten, unflatten
from hpc.io.halo import layer_traffic
from hpc.io.network import read_header, write_network
from hpc.io.plan import Plan
from hpc.io.shard import build_shards
from hpc.io.sharded import open_sharded, read_shard, read_sharded_header, write_sharded
from tests.spdnn.serial import random_layers, random_plan

SIZES = (30, 25, 4, 28)
PARTS = 6


def write_case(folder, sizes=SIZES, parts=PARTS, density=0.3, seed=5, dtype=np.float32):
    """Write a network and its sharded file; return layers, plan, shards and both paths."""
    layers = random_layers(sizes, density, seed, dtype, ("tanh", "clipped-relu"))
    network, path = folder / "net.h5", folder / "sharded.h5"
    fingerprint = write_network(network, sizes[0], layers)
    free = random_plan(sizes, parts, seed)
    plan = Plan(parts, free.owners, fingerprint, {"method": "test", "seed": 5})
    shards = build_shards(layers, plan, range(parts))
    write_sharded(path, read_header(network), plan, shards)
    return layers, plan, shards, network, path


def assert_same(found, expected):
    """Compare two shards field by field, exactly, dtypes included."""
    assert (found.rank, found.size, found.sizes) == (expected.rank, expected.size, expected.sizes)
    assert (found.fingerprint, found.dtype) == (expected.fingerprint, expected.dtype)
    assert_arrays(found.ids, expected.ids)
    for mine, theirs in zip(found.layers, expected.layers, strict=True):
        for name in ("n_in", "n_out", "activation", "clip"):
            assert getattr(mine, name) == getattr(theirs, name)
        assert_arrays([mine.bias, *mine.needs], [theirs.bias, *theirs.needs])
        assert [to for to, _ in mine.sends] == [to for to, _ in theirs.sends]
        assert_arrays([rows for _, rows in mine.sends], [rows for _, rows in theirs.sends])
        pairs = zip((mine.core, *mine.parts), (theirs.core, *theirs.parts), strict=True)
        for part, other in pairs:
            assert part.source == other.source
            for name in ("rows", "indptr", "indices", "data"):
                assert_arrays([getattr(part, name)], [getattr(other, name)])


def assert_arrays(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.dtype == theirs.dtype
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_shard_comes_back(tmp_path, dtype):
    _, _, shards, _, path = write_case(tmp_path, dtype=dtype)
    for shard in shards:
        assert_same(read_shard(path, shard.rank)[0], shard)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    st.lists(st.integers(1, 9), min_size=2, max_size=4),
    st.integers(1, 7),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
)
def test_any_network_under_any_plan_comes_back(tmp_path, sizes, parts, density, seed):
    _, _, shards, _, path = write_case(tmp_path, sizes, parts, density, seed)
    for shard in shards:
        assert_same(read_shard(path, shard.rank)[0], shard)


def test_the_header_says_what_the_network_and_the_plan_say(tmp_path):
    layers, plan, _, network, path = write_case(tmp_path)
    header, whole = read_sharded_header(path), read_header(network)
    for name in ("sizes", "nnz", "activations", "clips", "dtype", "fingerprint", "n_edges"):
        assert getattr(header.network, name) == getattr(whole, name)
    assert (header.parts, header.asked) == (PARTS, plan.asked)
    traffic = [
        layer_traffic(
            layer.weight.indptr.astype(np.int64), layer.weight.indices, above, below, PARTS
        )
        for layer, below, above in zip(layers, plan.owners, plan.owners[1:], strict=False)
    ]
    assert header.words.tolist() == [words.sum() for words, _, _ in traffic]
    assert header.messages.tolist() == [messages.sum() for _, messages, _ in traffic]


def test_a_rank_reads_its_range_only_into_one_array_of_weights(tmp_path):
    layers, _, shards, _, path = write_case(tmp_path)
    edges = sum(layer.weight.nnz for layer in layers)
    whole = sum(array.nbytes for shard in shards for array in flatten(shard).values())
    read = []
    for shard in shards:
        found, n_bytes = read_shard(path, shard.rank)
        read.append(n_bytes)
        parts = [part for layer in found.layers for part in (layer.core, *layer.parts)]
        weights = parts[0].data.base
        assert all(part.data.base is weights for part in parts)
        np.testing.assert_array_equal(weights, np.concatenate([part.data for part in parts]))
    with open_sharded(path) as sharded:
        header_bytes = sharded.bytes_read
    offsets_bytes = 2 * len(FLAT) * 8
    assert edges > 0 and sum(read) == whole + PARTS * (header_bytes + offsets_bytes)


def test_shards_in_another_order_and_other_plans_are_refused(tmp_path):
    _, plan, shards, network, path = write_case(tmp_path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match="shard 5 of 6, expected 0"):
        write_sharded(path, read_header(network), plan, reversed(shards))
    with pytest.raises(ValueError, match="5 shards, expected 6"):
        write_sharded(path, read_header(network), plan, shards[:-1])
    other = Plan(PARTS, plan.owners, "0" * 32, {})
    with pytest.raises(InputError, match="another network"):
        write_sharded(path, read_header(network), other, shards)
    assert path.read_bytes() == before
    assert sorted(file.name for file in tmp_path.iterdir()) == ["net.h5", "sharded.h5"]


def test_there_is_no_rank_beyond_the_parts(tmp_path):
    *_, path = write_case(tmp_path)
    with pytest.raises(InputError, match=r"ranks 0\.\.5, not 6"):
        read_shard(path, 6)


FAULTS = [
    ("data", lambda a: a.__setitem__(0, np.nan), "a weight is not finite"),
    ("bias", lambda a: a.__setitem__(0, np.inf), "a bias is not finite"),
    ("ids", lambda a: a.__setitem__(0, 10_000), "neurons of level 0"),
    ("ids", lambda a: a.__setitem__(slice(0, 2), a[1::-1].copy()), "not sorted or repeat"),
    ("indices", lambda a: a.__setitem__(0, -1), "columns of a row"),
    ("indices", lambda a: a.__setitem__(slice(None), 9_999), "columns of a row"),
    ("indptr", lambda a: a.__setitem__(0, 1), "row pointers"),
    ("indptr", lambda a: a.__setitem__(1, 5_000), "row pointers"),
    ("rows", lambda a: a.__setitem__(0, 999), "rows of a part"),
    ("needs", lambda a: a.__setitem__(0, -3), "halo ids"),
    ("sends", lambda a: a.__setitem__(0, 999), "rows to send"),
    ("links", lambda a: a.__setitem__(0, 0), "source 0 is the rank itself"),
    ("links", lambda a: a.__setitem__(0, PARTS), "source ranks"),
    ("links", lambda a: a.__setitem__(1, 0), "nothing to exchange"),
    ("targets", lambda a: a.__setitem__(0, -1), "destination ranks"),
    ("targets", lambda a: a.__setitem__(1, 10**6), "needs more"),
    ("layers", lambda a: a.__setitem__(0, -1), "negative count"),
    ("layers", lambda a: a.__setitem__(5, 0), "of the next one's inputs differ"),
]


@pytest.mark.parametrize(("name", "damage", "message"), FAULTS)
def test_a_fault_in_any_array_is_found_and_named(tmp_path, name, damage, message):
    _, _, shards, network, _ = write_case(tmp_path)
    flat = {key: array.copy() for key, array in flatten(shards[0]).items()}
    damage(flat[name])
    with pytest.raises(FormatError, match=message) as caught:
        unflatten(flat, read_header(network), PARTS, 0)
    assert "rank 0" in str(caught.value)


@pytest.mark.parametrize("name", FLAT)
def test_an_array_too_long_is_found(tmp_path, name):
    _, _, shards, network, _ = write_case(tmp_path)
    flat = flatten(shards[0])
    flat[name] = np.append(flat[name], flat[name][-1:])
    with pytest.raises(FormatError, match=f"'{name}' holds"):
        unflatten(flat, read_header(network), PARTS, 0)


def test_a_flipped_byte_is_found(tmp_path):
    *_, path = write_case(tmp_path)
    with h5py.File(path) as file:
        at = file["data"].id.get_chunk_info(0).byte_offset
    raw = bytearray(path.read_bytes())
    raw[at + 5] ^= 1
    path.write_bytes(raw)
    with pytest.raises(FormatError, match="checksum"):
        read_shard(path, 0)


def test_a_truncated_file_is_found(tmp_path):
    *_, path = write_case(tmp_path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(FormatError, match="truncated"):
        read_shard(path, 0)


def test_a_network_file_is_not_a_sharded_one(tmp_path):
    *_, network, _ = write_case(tmp_path)
    with pytest.raises(FormatError, match="expected 'relaycut-sharded'"):
        read_sharded_header(network)


def test_offsets_outside_the_data_are_found(tmp_path):
    *_, path = write_case(tmp_path)
    with h5py.File(path, "r+") as file:
        file["offsets"][1, 3] = 10**9
    with pytest.raises(FormatError, match="rank 0's offsets"):
        read_shard(path, 0)


@given(st.lists(st.lists(st.integers(-2, 8), max_size=4), max_size=5))
def test_lists_are_checked_one_by_one(lists):
    good = all(one == sorted(set(one)) and all(0 <= v < 6 for v in one) for one in lists)
    values = np.array([v for one in lists for v in one], np.int64)
    lengths = np.array([len(one) for one in lists], np.int64)
    if good:
        check_lists(values, lengths, 0, 6, "list")
    else:
        with pytest.raises(FormatError):
            check_lists(values, lengths, 0, 6, "list")
