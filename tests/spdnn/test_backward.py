"""SpBP against torch autograd, and the exchange against its own adjoint."""

import numpy as np
import pytest

from hpc.io.samples import create_samples, open_samples
from hpc.io.shard import build_shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.inputs import OwnInputs
from hpc.spdnn.kernels import kernel
from hpc.spdnn.optimizers import optimizer
from hpc.spdnn.runtime import Runtime
from hpc.spdnn.trainer import Trainer
from tests.spdnn.serial import TorchNetwork, random_layers, random_plan
from tests.spdnn.share import whole_biases, whole_weights

pytestmark = pytest.mark.mpi
SIZES = (19, 13, 16, 5)
ACTIVATIONS = ("identity", "relu", "clipped-relu", "sigmoid", "tanh")


@pytest.fixture
def digits(comm, shared_tmp):
    """Return inputs and labels as arrays and as this rank's `OwnInputs` maker."""
    rng = np.random.default_rng(7)
    x = rng.uniform(-1, 1, (SIZES[0], 200)).astype(np.float32)
    labels = rng.integers(0, SIZES[-1], 200).astype(np.int32)
    path = shared_tmp / "x.h5"
    if comm.rank == 0:
        with create_samples(path, 200, SIZES[0], "float32") as writer:
            writer.put_inputs(0, x)
            writer.put_labels(labels, SIZES[-1])
    comm.Barrier()

    def own(shard):
        with open_samples(path) as samples:
            return OwnInputs(samples, shard.ids[0])

    return x.astype(np.float64), labels, own


def trainer_for(comm, layers, loss, gradient="exact", seed=3, name="scipy"):
    plan = random_plan(SIZES, comm.size, seed)
    shard = build_shard(layers, plan, comm.rank)
    runtime = Runtime(comm, kernel(name), Stopwatch())
    return Trainer(runtime, shard, loss, gradient), shard


def relative_error(found, expected):
    return np.linalg.norm(found - expected) / max(np.linalg.norm(expected), 1e-300)


@pytest.mark.parametrize("loss", ["mse", "cross-entropy"])
@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("batch", [1, 37, 160])
@pytest.mark.parametrize("name", ["scipy", "numba"])
def test_gradients_are_torchs(comm, digits, loss, activation, batch, name):
    x, labels, own = digits
    layers = random_layers(SIZES, 0.5, 11, np.float64, (activation,))
    trainer, shard = trainer_for(comm, layers, loss, name=name)
    chosen = np.arange(batch)[::-1]
    gradients, bias_gradients = trainer.gradients(own(shard), labels, chosen)
    reference = TorchNetwork(layers)
    reference.loss(x[:, chosen], labels[chosen], loss).backward()
    whole = whole_weights(comm, shard, gradients)
    for found, weight in zip(whole, reference.weights, strict=True):
        assert relative_error(found, weight.grad.numpy()) < 1e-10
    for found, bias in zip(
        whole_biases(comm, shard, bias_gradients), reference.biases, strict=True
    ):
        assert relative_error(found, bias.grad.numpy()) < 1e-10
    trainer.free()


@pytest.mark.parametrize("name", ["sgd", "momentum", "adam"])
def test_weights_after_20_steps_are_torchs(comm, digits, name):
    x, labels, own = digits
    layers = random_layers(SIZES, 0.5, 12, np.float64, ("tanh", "sigmoid", "identity"))
    trainer, shard = trainer_for(comm, layers, "cross-entropy")
    inputs, rule = own(shard), optimizer(name, 0.05)
    reference = TorchNetwork(layers)
    torch = reference.torch
    numbers = [*reference.weights, *reference.biases]
    theirs = {
        "sgd": lambda: torch.optim.SGD(numbers, lr=0.05),
        "momentum": lambda: torch.optim.SGD(numbers, lr=0.05, momentum=0.9),
        "adam": lambda: torch.optim.Adam(numbers, lr=0.05),
    }[name]()
    for step in range(20):
        chosen = (np.arange(30) + 9 * step) % 200
        loss, right = trainer.step(inputs, labels, chosen, rule)
        theirs.zero_grad()
        expected = reference.loss(x[:, chosen], labels[chosen], "cross-entropy")
        out = reference.forward(x[:, chosen]).detach().numpy()
        expected.backward()
        theirs.step()
        assert loss / 30 == pytest.approx(expected.item(), rel=1e-9)
        assert right == (out.argmax(axis=1) == labels[chosen]).sum()
    whole = whole_weights(comm, shard, [parameters.values for parameters in trainer.parameters])
    for found, weight, pattern in zip(whole, reference.weights, reference.patterns, strict=True):
        assert relative_error(found, (weight * pattern).detach().numpy()) < 1e-10
    biases = whole_biases(comm, shard, [parameters.bias for parameters in trainer.parameters])
    for found, bias in zip(biases, reference.biases, strict=True):
        assert relative_error(found, bias.detach().numpy()) < 1e-10
    trainer.free()


def test_the_averaged_gradient_is_the_papers(comm, digits):
    x, labels, own = digits
    layers = random_layers(SIZES, 0.5, 13, np.float64, ("sigmoid",))
    trainer, shard = trainer_for(comm, layers, "mse", "averaged")
    chosen = np.arange(24)
    gradients, _ = trainer.gradients(own(shard), labels, chosen)
    expected = averaged_by_hand(layers, x[:, chosen], labels[chosen])
    for found, wanted in zip(whole_weights(comm, shard, gradients), expected, strict=True):
        assert relative_error(found, wanted) < 1e-10
    trainer.free()


def averaged_by_hand(layers, x, labels):
    """Return the paper's gradients for sigmoid layers and squared error, dense loops."""
    levels = [x]
    for layer in layers:
        levels.append(1 / (1 + np.exp(-(layer.weight @ levels[-1] + layer.bias[:, None]))))
    target = np.eye(len(levels[-1]))[:, labels]
    delta = 2 * (levels[-1] - target) / len(target) * levels[-1] * (1 - levels[-1])
    delta = delta.mean(axis=1)
    gradients = []
    for layer, below in zip(reversed(layers), reversed(levels[:-1]), strict=True):
        mean = below.mean(axis=1)
        gradients.append(np.outer(delta, mean) * (layer.weight.toarray() != 0))
        delta = layer.weight.T @ delta * mean * (1 - mean)
    return gradients[::-1]


def test_the_exchange_is_adjoint(comm, digits):
    """⟨W x, y⟩ = ⟨x, Wᵀ y⟩ with both products through the distributed passes."""
    _, labels, own = digits
    layers = random_layers(SIZES, 0.5, 14, np.float64, ("identity",), bias=False)
    trainer, shard = trainer_for(comm, layers, "mse")
    inputs, chosen = own(shard), np.arange(20)
    trainer.gradients(inputs, labels, chosen)
    current = trainer._pass(20)
    rng = np.random.default_rng(comm.rank)
    for k in range(1, len(layers)):
        layer = current.backward.layers[k]
        below = current.forward.levels[k][:, : shard.layers[k].n_in]
        above = current.forward.levels[k + 1][:, : shard.layers[k].n_out]
        y = rng.normal(size=above.shape)
        layer._delta[...] = y
        layer.run(lambda number: None)
        back = layer._sums[:, : shard.layers[k].n_in]
        left = comm.allreduce(float((above * y).sum()))
        right = comm.allreduce(float((below * back).sum()))
        assert left == pytest.approx(right, rel=1e-12)
    trainer.free()


def test_backward_sends_as_much_as_forward_receives(comm, digits):
    _, labels, own = digits
    layers = random_layers(SIZES, 0.5, 15, np.float64)
    trainer, shard = trainer_for(comm, layers, "mse")
    trainer.gradients(own(shard), labels, np.arange(10))
    forward, backward = trainer.counted()
    first = trainer._pass(10).forward.exchanges[0].words_sent
    assert backward.words_sent == forward.words_sent - comm.allreduce(first)
    assert backward.words_sent == backward.words_received
    trainer.free()
