"""Training that is broken off and goes on: the same bits on as many ranks, or to rounding."""

from __future__ import annotations

import time

import numpy as np
import pytest

from hpc.comm import checkpoint_writing
from hpc.comm.world import AgreedError
from hpc.io.checkpoint import check_part, index_path, part_path, read_index, write_part
from hpc.io.checkpoint_folder import checkpoint_path, numbers, remove
from hpc.io.checkpoint_options import CheckpointOptions, Every
from hpc.io.network import read_header, write_network
from hpc.io.plan import Plan, write_plan
from hpc.samples import sample_path
from hpc.spdnn.load import load_shard
from hpc.spdnn.training import TrainOptions, train
from tests.spdnn.serial import random_layers, random_plan
from tests.spdnn.share import whole_biases, whole_weights

pytestmark = pytest.mark.mpi
SIZES = (784, 60, 10)
STEPS = 32
"""Of an epoch of 1,600 digits by 50."""


class Crash(Exception):
    """Raised by all ranks at the same step."""


@pytest.fixture
def network(comm, shared_tmp):
    path = shared_tmp / "net.h5"
    if comm.rank == 0:
        layers = random_layers(SIZES, 0.2, 5, np.float32, ("tanh", "identity"))
        for layer in layers:
            layer.weight.data *= 0.3
        write_network(path, SIZES[0], layers)
    comm.Barrier()
    return path


def plan_for(comm, network, parts, seed):
    path = network.with_name(f"plan{parts}-{seed}.h5")
    if comm.rank == 0:
        free = random_plan(SIZES, parts, seed)
        write_plan(path, Plan(parts, free.owners, read_header(network).fingerprint, {}))
    comm.Barrier()
    return path


def trained(comm, network, root=None, crash_at=None, plan=None, **changes):
    """Train, or break off when so many steps are done here; return weights, biases, history."""
    replicas, dtype = changes.pop("replicas", 1), changes.pop("dtype", None)
    keep = changes.pop("keep", 3)
    base = {"epochs": 2, "batch": 50, "lr": 0.002, "optimizer": "adam", "validation": 0.2}
    options = TrainOptions(**(base | changes))
    shard = load_shard(comm, network, plan, dtype, replicas).shard
    done = 0

    def progress(steps, note):
        nonlocal done
        done += steps
        if crash_at is not None:
            time.sleep(0.01)  # so that what is due is written
        if done == crash_at:
            raise Crash

    checkpoint = root and CheckpointOptions(root, Every(steps=5), keep)
    try:
        found = train(
            comm, shard, sample_path("digits"), options,
            replicas=replicas, checkpoint=checkpoint, progress=progress,
        )  # fmt: skip
    except Crash:
        return None
    return found, shard


def same_bits(ours, theirs):
    for mine, other in zip(
        ours[0].values + ours[0].biases, theirs[0].values + theirs[0].biases, strict=True
    ):
        np.testing.assert_array_equal(mine, other)
    for mine, other in zip(ours[0].history, theirs[0].history, strict=True):
        assert (mine.loss, mine.accuracy) == (other.loss, other.accuracy)
        assert mine.validation_loss == other.validation_loss
    assert ours[0].steps == theirs[0].steps


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "sgd"},
        {"optimizer": "momentum"},
        {"optimizer": "adam"},
        {"gradient": "averaged"},
        {"replicas": 2},
    ],
)
def test_the_same_bits_as_without_a_stop(comm, network, shared_tmp, changes):
    if comm.size % changes.get("replicas", 1):
        return
    expected = trained(comm, network, **changes)
    for crash_at in (7, 19, STEPS + 3):
        assert trained(comm, network, shared_tmp / "c", crash_at, **changes) is None
        comm.Barrier()
    found = trained(comm, network, shared_tmp / "c", **changes)
    same_bits(found, expected)
    assert 0 < found[0].steps_before <= STEPS + 3 and expected[0].steps_before == 0
    if comm.rank == 0:
        assert len(numbers(shared_tmp / "c")) == 3
        parts = list(checkpoint_path(shared_tmp / "c", 0).parent.glob("*/part-*.h5"))
        assert len(parts) == 3 * comm.size // changes.get("replicas", 1)


@pytest.mark.parametrize(("first", "last"), [(1, 0), (0, 1)])
def test_other_ranks_and_plans(comm, network, shared_tmp, first, last):
    """All ranks, or all but the last, go on with what the others have left."""
    split = [comm, comm.Split(comm.rank < max(1, comm.size - 1), comm.rank)]
    takes_part = [True, comm.rank < max(1, comm.size - 1)]
    expected = trained(comm, network, dtype="float64")
    for turn, which in enumerate((first, last)):
        if takes_part[which]:
            plan = plan_for(split[which], network, split[which].size, turn)
            crash_at = None if turn else STEPS + 9
            found = trained(
                split[which], network, shared_tmp / "c", crash_at, plan, dtype="float64"
            )
        comm.Barrier()
    if takes_part[last]:
        weights = whole_weights(split[last], found[1], found[0].values)
        biases = whole_biases(split[last], found[1], found[0].biases)
    wanted = whole_weights(comm, expected[1], expected[0].values)
    wanted += whole_biases(comm, expected[1], expected[0].biases)
    if takes_part[last]:
        for ours, theirs in zip(weights + biases, wanted, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)
    split[1].Free()


def test_a_longer_run_goes_on_from_a_shorter_one(comm, network, shared_tmp):
    trained(comm, network, shared_tmp / "c")
    same_bits(trained(comm, network, shared_tmp / "c", epochs=3), trained(comm, network, epochs=3))
    with pytest.raises(AgreedError, match=r"--epochs 1: the checkpoint is in epoch \d"):
        trained(comm, network, shared_tmp / "c", epochs=1)


def test_checkpoints_of_another_run(comm, network, shared_tmp):
    trained(comm, network, shared_tmp / "c", 12)
    comm.Barrier()
    for changes, says in [
        ({"batch": 40}, "batch 50, here 40"),
        ({"lr": 0.003}, "lr 0.002, here 0.003"),
        ({"optimizer": "sgd"}, "optimizer adam, here sgd"),
        ({"dtype": "float64"}, "dtype float32, here float64"),
    ]:
        with pytest.raises(AgreedError, match=f"is of another run: .*{says}"):
            trained(comm, network, shared_tmp / "c", **changes)
    other = network.with_name("other.h5")
    if comm.rank == 0:
        write_network(other, SIZES[0], random_layers(SIZES, 0.2, 6, np.float32))
    comm.Barrier()
    with pytest.raises(AgreedError, match="is of another run: network"):
        trained(comm, other, shared_tmp / "c")
    if comm.rank == 0:
        layers = random_layers(SIZES, 0.2, 5, np.float32, ("tanh", "identity"))
        write_network(other, SIZES[0], layers)
    comm.Barrier()
    with pytest.raises(AgreedError, match="is of another run: weights at the start"):
        trained(comm, other, shared_tmp / "c")


def test_damaged_ones_are_skipped_and_cleaned(comm, network, shared_tmp, capfd):
    expected = trained(comm, network)
    trained(comm, network, shared_tmp / "c", 28, keep=50)
    comm.Barrier()
    root = shared_tmp / "c"
    newest = max(n for n in numbers(root) if index_path(checkpoint_path(root, n)).exists())
    comm.Barrier()
    if comm.rank == 0:
        remove(checkpoint_path(root, newest + 1))
        path = part_path(checkpoint_path(shared_tmp / "c", newest), comm.size - 1)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
        checkpoint_path(shared_tmp / "c", newest + 1).mkdir()
    comm.Barrier()
    capfd.readouterr()
    same_bits(trained(comm, network, shared_tmp / "c", keep=50), expected)
    said = capfd.readouterr()
    if comm.rank == 0:
        assert f"checkpoint-{newest + 1:06d} is skipped: " in said.err
        assert "has no index, so it is half written" in said.err
        assert f"checkpoint-{newest:06d} is skipped: " in said.err
        assert "checksum mismatch" in said.err
        assert f"checkpoint-{newest - 1:06d}: going on after step" in said.out
        assert not {newest, newest + 1} & set(numbers(root))


def test_where_none_is_complete_it_is_said(comm, network, shared_tmp, capfd):
    expected = trained(comm, network)
    if comm.rank == 0:
        checkpoint_path(shared_tmp / "c", 3).mkdir(parents=True)
    comm.Barrier()
    capfd.readouterr()
    same_bits(trained(comm, network, shared_tmp / "c"), expected)
    if comm.rank == 0:
        said = capfd.readouterr().err
        assert "no checkpoint is complete: the run begins anew" in said


def test_an_index_waits_for_the_slowest_part(comm, network, shared_tmp, monkeypatch):
    def slow(folder, part, arrays):
        time.sleep(0.05 * part)
        return write_part(folder, part, arrays)

    monkeypatch.setattr(checkpoint_writing, "write_part", slow)
    trained(comm, network, shared_tmp / "c", keep=50)
    if comm.rank == 0:
        found = [read_index(path) for path in (shared_tmp / "c").glob("checkpoint-*")]
        assert found  # how many depends on how fast the ranks train
        for index in found:
            for part in range(comm.size):
                check_part(index, part)


def test_fresh_ones_replace_those_there_are(comm, network, shared_tmp):
    expected = trained(comm, network)
    trained(comm, network, shared_tmp / "c", 28)
    comm.Barrier()
    shard = load_shard(comm, network).shard
    options = TrainOptions(2, 50, 0.002, optimizer="adam", validation=0.2)
    fresh = CheckpointOptions(shared_tmp / "c", Every(steps=10), 2, fresh=True)
    before = numbers(shared_tmp / "c")
    comm.Barrier()
    found = train(
        comm, shard, sample_path("digits"), options,
        checkpoint=fresh, progress=lambda steps, note: time.sleep(0.01),
    )  # fmt: skip
    same_bits((found, shard), expected)
    if comm.rank == 0:
        assert found.checkpoints >= 2
        assert len(numbers(shared_tmp / "c")) == 2
        assert min(numbers(shared_tmp / "c")) > max(before)


def test_a_loss_that_is_not_finite_stops_all(comm, network, shared_tmp):
    with pytest.raises(AgreedError, match=r"the loss is (nan|inf) in epoch 1"):
        trained(comm, network, shared_tmp / "c", lr=1e30, optimizer="sgd", loss="mse")
