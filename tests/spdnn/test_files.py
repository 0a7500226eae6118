"""From files to shards and back, in parallel, against the pure way in one process."""

import argparse
import json
from dataclasses import replace

import numpy as np
import pytest

from hpc.comm.world import AgreedError
from hpc.io.errors import FormatError
from hpc.io.halo import Traffic
from hpc.io.network import open_network, read_header, write_network
from hpc.io.plan import Plan, block_plan, write_plan
from hpc.io.shard import build_shard
from hpc.io.sharded import write_sharded
from hpc.report.record import Record
from hpc.report.run_folder import RunFolder
from hpc.spdnn import load
from hpc.spdnn.load import load_shard
from hpc.spdnn.row_order import reorder
from hpc.spdnn.save import save_network
from hpc.spdnn.traffic_figures import keep_traffic
from tests.spdnn.serial import random_layers, random_plan

pytestmark = pytest.mark.mpi
SIZES = (20, 31, 3, 27)


@pytest.fixture
def files(comm, shared_tmp):
    """Return layers, plan, and the paths of network, plan and sharded network."""
    layers = random_layers(SIZES, 0.3, 21, np.float32, ("relu", "tanh"))
    paths = [shared_tmp / name for name in ("net.h5", "plan.h5", "sharded.h5")]
    free = random_plan(SIZES, comm.size, 21)
    plan = None
    if comm.rank == 0:
        fingerprint = write_network(paths[0], SIZES[0], layers)
        plan = Plan(free.parts, free.owners, fingerprint, free.asked)
        write_plan(paths[1], plan)
        shards = [build_shard(layers, plan, rank) for rank in range(comm.size)]
        write_sharded(paths[2], read_header(paths[0]), plan, shards)
    return layers, comm.bcast(plan), paths


def assert_same_shard(found, expected):
    reorder(expected)
    assert found.sizes == expected.sizes and found.fingerprint == expected.fingerprint
    for ours, theirs in zip(found.ids, expected.ids, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    for ours, theirs in zip(found.layers, expected.layers, strict=True):
        assert (ours.activation, ours.clip) == (theirs.activation, theirs.clip)
        assert (ours.n_in, ours.n_out) == (theirs.n_in, theirs.n_out)
        np.testing.assert_array_equal(ours.bias, theirs.bias)
        assert [dest for dest, _ in ours.sends] == [dest for dest, _ in theirs.sends]
        for (_, mine), (_, wanted) in zip(ours.sends, theirs.sends, strict=True):
            np.testing.assert_array_equal(mine, wanted)
        for mine, wanted in zip(ours.needs, theirs.needs, strict=True):
            np.testing.assert_array_equal(mine, wanted)
        for mine, wanted in zip(
            (ours.core, *ours.parts), (theirs.core, *theirs.parts), strict=True
        ):
            assert mine.source == wanted.source
            for name in ("rows", "indptr", "indices", "data"):
                np.testing.assert_array_equal(getattr(mine, name), getattr(wanted, name))


def test_a_network_and_a_plan_load_in_parallel(comm, files):
    layers, plan, (network, plan_path, _) = files
    loaded = load_shard(comm, network, plan_path)
    assert_same_shard(loaded.shard, build_shard(layers, plan, comm.rank))
    total = comm.allreduce(loaded.bytes_read)
    with open_network(network) as file:
        list(file.layers())
        whole = file.bytes_read
    assert total <= whole + comm.size * len(layers) * 16, "every byte is read about once"


def test_a_plan_is_read_at_the_start_only(comm, files, shared_tmp):
    """What its random plan sends is in the run's folder, though the file has gone since."""
    _, plan, (network, plan_path, _) = files
    traffic = Traffic(*np.arange(3 * 3 * comm.size).reshape(3, 3, comm.size))
    if comm.rank == 0:
        write_plan(plan_path, replace(plan, random_traffic=traffic))
    comm.Barrier()
    loaded = load_shard(comm, network, plan_path)
    comm.Barrier()
    if comm.rank == 0:
        plan_path.unlink()
        (shared_tmp / "run").mkdir()
    args = argparse.Namespace(run_folder=str(shared_tmp / "run"), plan=str(plan_path))
    record = Record(folder=RunFolder(args.run_folder) if comm.rank == 0 else None)
    keep_traffic(comm, args, loaded, record)
    if comm.rank == 0:
        kept = json.loads((shared_tmp / "run" / "traffic.json").read_text())["layers"]
        assert kept["random_words"] == traffic.words.sum(axis=1).tolist()
        assert kept["random_messages"] == traffic.messages.sum(axis=1).tolist()


def test_a_network_that_one_rank_cannot_open_is_an_error_on_all(comm, files, monkeypatch):
    _, _, (network, _, _) = files
    opened = []

    def open_first(path):
        opened.append(path)
        if comm.rank == comm.size - 1:
            raise FormatError(f"{path}: gone")
        return open_network(path)

    monkeypatch.setattr(load, "open_network", open_first)
    with pytest.raises(AgreedError, match="gone"):
        load_shard(comm, network)
    assert len(opened) == 1


def test_a_sharded_network_loads_without_messages(comm, files):
    layers, plan, (_, _, sharded) = files
    loaded = load_shard(comm, sharded)
    assert_same_shard(loaded.shard, build_shard(layers, plan, comm.rank))


def test_no_plan_means_blocks(comm, files):
    layers, plan, (network, _, _) = files
    blocks = block_plan(SIZES, comm.size, plan.fingerprint)
    assert_same_shard(load_shard(comm, network).shard, build_shard(layers, blocks, comm.rank))


def test_another_precision(comm, files):
    _, _, (network, plan_path, _) = files
    shard = load_shard(comm, network, plan_path, "float64").shard
    assert shard.dtype == np.float64
    assert {part.data.dtype for layer in shard.layers for part in (layer.core, *layer.parts)} == {
        np.dtype(np.float64)
    }


@pytest.mark.parametrize("which", [0, 2])
def test_what_was_loaded_is_saved_again(comm, files, which, shared_tmp):
    layers, _, paths = files
    shard = load_shard(comm, paths[which], paths[1] if which == 0 else None).shard
    values = [
        np.concatenate([part.data for part in (layer.core, *layer.parts)]) * 2
        for layer in shard.layers
    ]
    saved = shared_tmp / f"saved{which}.h5"
    save_network(comm, saved, shard, values, [layer.bias + 1 for layer in shard.layers])
    comm.Barrier()
    assert read_header(saved).fingerprint == read_header(paths[0]).fingerprint
    with open_network(saved) as file:
        for found, wanted in zip(file.layers(), layers, strict=True):
            np.testing.assert_array_equal(found.weight.toarray(), wanted.weight.toarray() * 2)
            np.testing.assert_array_equal(found.bias, wanted.bias + 1)
            assert (found.activation, found.clip) == (wanted.activation, wanted.clip)


def test_a_plan_for_other_ranks_is_refused_by_all(comm, files, shared_tmp):
    _, plan, (network, _, _) = files
    path = shared_tmp / "other.h5"
    if comm.rank == 0:
        other = random_plan(SIZES, comm.size + 1, 1)
        write_plan(path, Plan(comm.size + 1, other.owners, plan.fingerprint, {}))
    comm.Barrier()
    with pytest.raises(AgreedError, match=f"made for {comm.size + 1} ranks"):
        load_shard(comm, network, path)


def test_damage_that_one_rank_meets_is_raised_by_all(comm, files, shared_tmp):
    """A weight that is not finite lies in the last rank's share of the file."""
    layers, _, _ = files
    path = shared_tmp / "bad.h5"
    if comm.rank == 0:
        write_network(path, SIZES[0], layers)
        _set_last_weight_to_nan(path)
    comm.Barrier()
    with pytest.raises(AgreedError, match=r"bad\.h5: layer 3, row \d+: weight is nan"):
        load_shard(comm, path)


def _set_last_weight_to_nan(path):
    import h5py

    with h5py.File(path, "r+") as file:
        file["data"][-1] = np.nan
