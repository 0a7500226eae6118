"""Replicas give what one group gives: categories and scores to the bit, weights to rounding."""

import numpy as np
import pytest

from hpc.comm.replicas import replica_groups
from hpc.comm.world import AgreedError
from hpc.io.network import write_network
from hpc.io.samples import create_samples
from hpc.spdnn.inference import infer
from hpc.spdnn.kernels import kernel
from hpc.spdnn.load import load_shard
from hpc.spdnn.split import batches, split_samples
from hpc.spdnn.training import TrainOptions, train
from tests.spdnn.serial import TorchNetwork, random_layers, serial_forward
from tests.spdnn.share import whole_biases, whole_weights

pytestmark = pytest.mark.mpi
SIZES = (23, 17, 20, 6)
N = 53


@pytest.fixture
def files(comm, shared_tmp):
    """Return layers, inputs and labels, and the folder of their files."""
    layers = random_layers(SIZES, 0.4, 31, np.float64, ("tanh", "relu"))
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, (SIZES[0], N)).astype(np.float32)
    labels = rng.integers(0, SIZES[-1], N).astype(np.int32)
    if comm.rank == 0:
        write_network(shared_tmp / "net.h5", SIZES[0], layers)
        for n in (2, N):
            with create_samples(shared_tmp / f"x{n}.h5", n, SIZES[0], "float32") as writer:
                writer.put_inputs(0, x[:, :n])
                writer.put_labels(labels[:n], SIZES[-1])
    comm.Barrier()
    return layers, x, labels, shared_tmp


def divisors(n):
    return [d for d in range(1, n + 1) if n % d == 0]


def scored(comm, *arguments, **options):
    """Run inference; return the result and, where scores were handed over, all of them."""
    found = []
    result = infer(comm, *arguments, scores=lambda start, x: found.append((start, x)), **options)
    starts = [start for start, _ in found]
    assert starts == sorted(starts) and (comm.rank == 0) == bool(found)
    return result, np.concatenate([x for _, x in found]) if found else None


@pytest.mark.parametrize("name", ["scipy", "numba"])
@pytest.mark.parametrize(("n", "batch"), [(N, 7), (N, 16), (N, 1000), (2, 4)])
def test_inference_is_that_of_one_group(comm, files, name, n, batch):
    layers, x, _, folder = files
    inputs = folder / f"x{n}.h5"
    expected = serial_forward(layers, x[:, :n].astype(np.float64))[-1].T
    for replicas in divisors(comm.size):
        shard = load_shard(comm, folder / "net.h5", replicas=replicas).shard
        with replica_groups(comm, replicas) as ranks:
            local = kernel(name)
            alone, scores = scored(ranks.group, shard, inputs, kernel=local, batch=batch)
        run = {"kernel": local, "batch": batch, "replicas": replicas}
        shared, all_scores = scored(comm, shard, inputs, **run)
        merged = infer(comm, shard, inputs, **run)
        kept = infer(comm, shard, inputs, merge=False, **run)
        if comm.rank == 0:
            np.testing.assert_array_equal(all_scores, scores)
            np.testing.assert_allclose(all_scores, expected, rtol=1e-10, atol=1e-12)
        for result in (shared, merged, kept):
            np.testing.assert_array_equal(result.categories, alone.categories)
            assert result.counted.words_sent == result.counted.words_received
        assert kept.columns.tolist() == [n] * len(layers)
        assert kept.passes == sum(
            -(-count // batch) for count in shares_of(n, batch, replicas) if count
        )


def shares_of(n, batch, replicas):
    """Return how many samples each replica has, counted one by one."""
    counts = [0] * replicas
    for start in range(0, n, batch * replicas):
        some = min(batch * replicas, n - start)
        for replica in range(replicas):
            counts[replica] += len(range(some)[replica::replicas])
    return counts


def test_volume_is_per_input_and_messages_per_pass_of_one_group(comm, files):
    folder = files[-1]
    for replicas in divisors(comm.size):
        shard = load_shard(comm, folder / "net.h5", replicas=replicas).shard
        with replica_groups(comm, replicas) as ranks:
            one = infer(ranks.group, shard, folder / f"x{N}.h5", merge=False, batch=10)
        all_ = infer(comm, shard, folder / f"x{N}.h5", merge=False, batch=10, replicas=replicas)
        assert all_.counted.words_sent == one.counted.words_sent
        assert all_.counted.messages_sent * one.passes == one.counted.messages_sent * all_.passes


def trained(comm, files, options, replicas=1):
    """Return the result, this rank's share, and the whole weights and biases of its replica."""
    folder = files[-1]
    shard = load_shard(comm, folder / "net.h5", replicas=replicas).shard
    x = folder / f"x{N}.h5"
    result = train(comm, shard, x, options, test=x, replicas=replicas, kernel=kernel("scipy"))
    with replica_groups(comm, replicas) as ranks:
        numbers = [
            *whole_weights(ranks.group, shard, result.values),
            *whole_biases(ranks.group, shard, result.biases),
        ]
        for mine in numbers:
            np.testing.assert_array_equal(mine, ranks.peers.bcast(mine))
    return result, numbers


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / np.linalg.norm(expected)


@pytest.mark.parametrize(
    ("batch", "change"),
    [
        (11, {}),  # the last batch has 9: uneven shares
        (13, {"loss": "mse", "validation": 0.25}),  # the last has one: replicas without a sample
        (10, {"gradient": "averaged", "loss": "mse"}),
        (13, {"gradient": "averaged", "validation": 0.25, "optimizer": "momentum"}),
    ],
)
def test_training_is_that_of_one_rank(comm, files, batch, change):
    from mpi4py import MPI

    options = TrainOptions(
        **({"epochs": 2, "batch": batch, "lr": 0.02, "optimizer": "adam"} | change)
    )
    one, expected = trained(MPI.COMM_SELF, files, options)
    for replicas in divisors(comm.size):
        result, found = trained(comm, files, options, replicas)
        for ours, theirs in zip(found, expected, strict=True):
            assert relative_error(ours, theirs) < 1e-10
        assert result.test_accuracy == one.test_accuracy
        assert (result.steps, result.forwarded) == (one.steps, one.forwarded)
        for ours, theirs in zip(result.history, one.history, strict=True):
            assert ours.loss == pytest.approx(theirs.loss, rel=1e-10)
            assert ours.accuracy == theirs.accuracy
            assert ours.validation_accuracy == theirs.validation_accuracy
            if theirs.validation_loss is not None:
                assert ours.validation_loss == pytest.approx(theirs.validation_loss, rel=1e-10)


def test_training_is_torchs(comm, files):
    layers, x, labels, _ = files
    options = TrainOptions(epochs=2, batch=11, lr=0.02, optimizer="adam", seed=4)
    reference = TorchNetwork(layers)
    theirs = reference.torch.optim.Adam([*reference.weights, *reference.biases], lr=0.02)
    samples, _ = split_samples(N, 0.0, 4)
    for epoch in range(2):
        for chosen in batches(samples, 11, 4, epoch):
            theirs.zero_grad()
            reference.loss(x[:, chosen].astype(np.float64), labels[chosen], options.loss).backward()
            theirs.step()
    expected = [
        *(
            (w * p).detach().numpy()
            for w, p in zip(reference.weights, reference.patterns, strict=True)
        ),
        *(bias.detach().numpy() for bias in reference.biases),
    ]
    for replicas in divisors(comm.size):
        for ours, wanted in zip(trained(comm, files, options, replicas)[1], expected, strict=True):
            assert relative_error(ours, wanted) < 1e-10


def test_the_same_run_gives_the_same_bits(comm, files):
    options = TrainOptions(epochs=1, batch=9)
    runs = [trained(comm, files, options, comm.size)[1] for _ in range(2)]
    for first, second in zip(*runs, strict=True):
        np.testing.assert_array_equal(first, second)


def test_a_share_of_another_cut_is_refused_by_all(comm, files):
    shard = load_shard(comm, files[-1] / "net.h5", replicas=comm.size).shard
    if comm.size > 1:
        with pytest.raises(AgreedError, match="shard 0 of 1, on rank"):
            infer(comm, shard, files[-1] / f"x{N}.h5")
