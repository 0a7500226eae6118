"""Training end to end on real digits, small and quick; and what must not depend on chance."""

import numpy as np
import pytest
from mpi4py import MPI

from hpc.comm.world import AgreedError
from hpc.io.network import write_network
from hpc.samples import sample_path
from hpc.spdnn.load import load_shard
from hpc.spdnn.split import batches, split_samples
from hpc.spdnn.training import TrainOptions, train
from tests.spdnn.serial import random_layers

pytestmark = pytest.mark.mpi


@pytest.fixture
def shard(comm, shared_tmp):
    """Return this rank's blocks of a small network for 784 inputs and 10 classes."""
    path = shared_tmp / "net.h5"
    if comm.rank == 0:
        layers = random_layers((784, 64, 10), 0.2, 5, np.float32, ("tanh", "identity"))
        for layer in layers:
            layer.weight.data *= 0.3
        write_network(path, 784, layers)
    comm.Barrier()
    return load_shard(comm, path).shard


def options(**changes):
    base = {"epochs": 4, "batch": 50, "lr": 0.002, "optimizer": "adam", "validation": 0.2}
    return TrainOptions(**(base | changes))


def test_real_digits_are_learnt(comm, shard):
    result = train(
        comm, shard, sample_path("digits"), options(epochs=8), test=sample_path("digits")
    )
    losses = [epoch.loss for epoch in result.history]
    assert losses == sorted(losses, reverse=True)
    assert result.history[-1].validation_accuracy > 0.8
    assert result.test_accuracy > result.history[-1].validation_accuracy
    assert result.steps == 8 * 32
    assert result.forward.words_received == result.forward.words_sent


def test_the_clock_keeps_validation_apart(comm, shard):
    """So the seconds of the epochs, which are of the steps, are those of the other kinds."""
    result = train(
        comm, shard, sample_path("digits"), options(epochs=2), test=sample_path("digits")
    )
    mine = result.clock.total() - result.clock.total("validate")
    seconds = sum(epoch.seconds for epoch in result.history)
    assert result.clock.total("validate") > 0
    assert comm.allreduce(mine, MPI.MAX) <= seconds * (1 + 1e-9)
    if comm.size == 1:
        assert mine == pytest.approx(seconds)


def test_the_same_seed_gives_the_same_bits(comm, shard):
    """Weights are changed in copies, so one shard trains twice from the same start."""
    first, second = (train(comm, shard, sample_path("digits"), options(epochs=1)) for _ in range(2))
    for ours, theirs in zip(
        first.values + first.biases, second.values + second.biases, strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)
    other = train(comm, shard, sample_path("digits"), options(epochs=1, seed=1))
    assert comm.allreduce(
        sum(not np.array_equal(a, b) for a, b in zip(first.values, other.values, strict=True))
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "epochs 0"),
        ({"batch": 0}, "batch 0"),
        ({"lr": -1.0}, "learning rate -1"),
        ({"loss": "hinge"}, "loss 'hinge': expected one of mse, cross-entropy"),
        ({"optimizer": "lbfgs"}, "expected one of sgd, momentum, adam"),
        ({"gradient": "wrong"}, "expected one of exact, averaged"),
        ({"validation": 1.0}, "validation 1.0"),
    ],
)
def test_options_out_of_range_are_refused_by_all(comm, shard, change, message):
    with pytest.raises(AgreedError, match=message):
        train(comm, shard, sample_path("digits"), options(**change))


def test_a_loss_that_is_not_finite_stops_all(comm, shard):
    with pytest.raises(AgreedError, match=r"the loss is (nan|inf) in epoch 1, step \d+"):
        train(
            comm,
            shard,
            sample_path("digits"),
            options(lr=1e30, optimizer="sgd", loss="mse"),
        )


@pytest.mark.parametrize("n", [1, 2, 10, 101])
@pytest.mark.parametrize("share", [0.0, 0.1, 0.49])
def test_every_sample_trains_or_validates_once(n, share):
    training, validation = split_samples(n, share, 3)
    np.testing.assert_array_equal(np.sort(np.concatenate([training, validation])), np.arange(n))
    order = np.concatenate(batches(training, 7, 3, 0))
    np.testing.assert_array_equal(np.sort(order), training)
    again = np.concatenate(batches(training, 7, 3, 1))
    assert len(training) < 5 or not np.array_equal(order, again)
