"""A flipped byte or a cut end of any of our files is a clear error, or changes nothing."""

import numpy as np
import pytest

from hpc.io.errors import FormatError
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
