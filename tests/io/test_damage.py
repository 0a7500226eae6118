"""A flipped byte or a cut end of any of our files is a clear error, or changes nothing."""

import re

import h5py
import numpy as np
import pytest

from hpc.io.errors import FormatError
from hpc.io.halo import Traffic
from hpc.io.network import open_network, read_header, write_network
from hpc.io.plan import Plan, read_plan, write_plan
from hpc.io.samples import create_samples, open_samples
from hpc.io.shard import build_shard
from hpc.io.sharded import read_shard, write_sharded
from tests.spdnn.serial import random_layers, random_plan

SIZES = (30, 40, 20)
FLIPS = 150


def network_file(folder):
    write_network(folder / "network.h5", SIZES[0], random_layers(SIZES, 0.3, 1, np.float32))
    return folder / "network.h5"


def network_content(path):
    with open_network(path) as file:
        header = file.header
        layers = [
            (layer.weight.indptr, layer.weight.indices, layer.weight.data, layer.bias)
            for layer in file.layers()
        ]
    return header.sizes, header.activations, header.clips, header.fingerprint, layers


def plan_file(folder):
    free = random_plan(SIZES, 3, 1)
    write_plan(folder / "plan.h5", Plan(3, free.owners, "f" * 32, {"seed": 1}))
    return folder / "plan.h5"


def plan_content(path):
    plan = read_plan(path)
    return plan.parts, plan.owners, plan.fingerprint, plan.asked


def samples_file(folder):
    with create_samples(folder / "x.h5", 50, 20, "bits") as writer:
        writer.put_inputs(0, np.random.default_rng(1).random((20, 50)) < 0.5)
        writer.put_labels(np.arange(50) % 7, 7)
        writer.put_categories(np.arange(1, 20, 3))
    return folder / "x.h5"


def samples_content(path):
    with open_samples(path) as samples:
        header = samples.header
        facts = (header.n_samples, header.width, header.packed, header.scale, header.classes)
        return facts, samples.raw(0, 50), samples.labels(), samples.categories()


def sharded_file(folder):
    network = network_file(folder)
    layers = random_layers(SIZES, 0.3, 1, np.float32)
    header = read_header(network)
    plan = Plan(2, random_plan(SIZES, 2, 1).owners, header.fingerprint, {})
    shards = [build_shard(layers, plan, rank) for rank in range(2)]
    write_sharded(folder / "sharded.h5", header, plan, shards)
    return folder / "sharded.h5"


def sharded_content(path):
    found = []
    for rank in range(2):
        shard, _ = read_shard(path, rank)
        found.append((shard.sizes, shard.ids, shard.fingerprint))
        for layer in shard.layers:
            parts = [(p.source, p.rows, p.indptr, p.indices, p.data) for p in layer.parts]
            core = (layer.core.indptr, layer.core.indices, layer.core.data)
            found.append((core, parts, layer.needs, layer.sends, layer.bias, layer.activation))
    return found


KINDS = {
    "network": (network_file, network_content),
    "plan": (plan_file, plan_content),
    "samples": (samples_file, samples_content),
    "sharded": (sharded_file, sharded_content),
}


def same(ours, theirs):
    if isinstance(ours, list | tuple):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return np.array_equal(ours, theirs)


@pytest.mark.parametrize("kind", KINDS)
def test_flipped_bytes(tmp_path, kind):
    write, content = KINDS[kind]
    path = write(tmp_path)
    whole, expected = path.read_bytes(), content(path)
    rng = np.random.default_rng(7)
    noticed = 0
    for at in rng.integers(0, len(whole), FLIPS):
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(0, 8)
        path.write_bytes(damaged)
        try:
            found = content(path)
        except FormatError as error:
            assert str(path) in str(error)
            noticed += 1
        else:
            assert same(found, expected), f"byte {at} changed the content unnoticed"
    assert noticed > 0


@pytest.mark.parametrize("kind", KINDS)
def test_cut_ends(tmp_path, kind):
    write, content = KINDS[kind]
    path = write(tmp_path)
    whole = path.read_bytes()
    for length in np.linspace(0, len(whole) - 1, 25).astype(int):
        path.write_bytes(whole[:length])
        with pytest.raises(FormatError, match=path.name):
            content(path)


def change(path, name, value):
    """Set an attribute, or the first number of a dataset (rewritten, so that its sum is right)."""
    with h5py.File(path, "r+") as file:
        if name in file:
            data = file[name][:]
            data[0] = value
            del file[name]
            file.create_dataset(name, data=data)
        else:
            file.attrs[name] = value


@pytest.mark.parametrize(
    ("kind", "name", "value", "says"),
    [
        ("network", "clip", np.nan, "'clip' is nan in layer 1"),
        ("network", "sizes", 2**40, "expected two or more of 1..2147483647"),
        ("samples", "scale", np.nan, "attribute 'scale' is nan, expected a finite number"),
        ("plan", "parts", 0, "a plan for 0 parts, expected 1 or more"),
        ("plan", "asked", 3, "'asked' is 3, expected text"),
        ("plan", "asked", "{", "attribute 'asked' is not JSON"),
    ],
)
def test_what_no_checksum_can_tell(tmp_path, kind, name, value, says):
    write, content = KINDS[kind]
    path = write(tmp_path)
    change(path, name, value)
    with pytest.raises(FormatError, match=re.escape(says)):
        content(path)


def test_traffic_below_nothing(tmp_path):
    path = tmp_path / "plan.h5"
    traffic = Traffic(*(np.full((2, 2), n, np.int64) for n in (3, -1, 5)))
    owners = tuple(np.array([0, 1, 1]) for _ in range(3))
    write_plan(path, Plan(2, owners, "f", {}, traffic))
    with pytest.raises(FormatError, match="'traffic' counts less than nothing"):
        read_plan(path)


def test_how_much_is_missing_of_a_cut_file(tmp_path):
    path = network_file(tmp_path)
    size = path.stat().st_size
    path.write_bytes(path.read_bytes()[: size // 2])
    with pytest.raises(FormatError, match=f"truncated file of .*, expected {size:,}"):
        read_header(path)
    path.write_bytes(b"")
    with pytest.raises(FormatError, match="empty, expected an HDF5 file"):
        read_header(path)
