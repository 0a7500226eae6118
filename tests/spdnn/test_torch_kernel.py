"""torch's sparse CSR gives what scipy gives, on the CPU always and on a GPU where there is one."""

import sys

import numpy as np
import pytest
import torch

from hpc.comm.world import AgreedError
from hpc.io.errors import InputError
from hpc.io.halo import Part
from hpc.io.samples import create_samples, open_samples
from hpc.io.shard import build_shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.inputs import OwnInputs
from hpc.spdnn.kernel_choice import check_choice, choose_kernel
from hpc.spdnn.kernels import SampledOuter, ScipyKernel, Weights, kernel
from hpc.spdnn.optimizers import optimizer
from hpc.spdnn.runtime import Runtime
from hpc.spdnn.torch_kernel import TorchKernel
from hpc.spdnn.trainer import Trainer
from tests.spdnn.serial import random_layers, random_plan, serial_forward
from tests.spdnn.share import run_forward

SIZES = (19, 13, 16, 5)
ROWS, COLUMNS = 30, 40


@pytest.fixture(params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)])
def ours(request):
    if request.param == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    return TorchKernel(request.param)


def part(rows, dtype, density=0.2):
    """Return the weights of some of 30 rows, without columns at either end."""
    matrix = random_layers((COLUMNS, ROWS), density, 5, dtype)[0].weight.toarray()
    matrix[:, :4] = matrix[:, -3:] = 0
    from scipy import sparse

    chosen = sparse.csr_array(matrix[rows])
    return Weights(
        Part(0, rows.astype(np.int32), chosen.indptr, chosen.indices, chosen.data.copy())
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 64])
@pytest.mark.parametrize("rows", [np.arange(ROWS), np.array([2, 7, 8, 29])])
@pytest.mark.parametrize("density", [0.2, 0.0])
def test_the_three_products_are_scipys(ours, dtype, width, rows, density):
    weights, reference = part(rows, dtype, density), ScipyKernel()
    rng = np.random.default_rng(2)
    close = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-12}
    x = rng.normal(size=(3, COLUMNS, width)).astype(dtype)
    delta = rng.normal(size=(3, ROWS, width)).astype(dtype)
    for _ in range(2):  # buffers again, and weights that have changed
        found, expected = (np.full((len(rows), width), 7, dtype) for _ in range(2))
        back, expected_back = (np.ones((COLUMNS, width), dtype) for _ in range(2))
        values, expected_values = (np.ones(len(weights.data), dtype) for _ in range(2))
        ours.multiply(weights, x[1], found)
        reference.multiply(weights, x[1], expected)
        np.testing.assert_allclose(found, expected, **close)
        ours.add_transposed(weights, delta[2], back)
        reference.add_transposed(weights, delta[2], expected_back)
        np.testing.assert_allclose(back, expected_back, **close)
        ours.add_gradient(SampledOuter(weights, values), delta, x)
        reference.add_gradient(SampledOuter(weights, expected_values), delta, x)
        np.testing.assert_allclose(values, expected_values, **close)
        weights.data *= -3
        weights.changed()


def test_copies_of_weights_go_when_the_weights_go(ours):
    weights = part(np.arange(ROWS), np.float64)
    ours.multiply(weights, np.ones((COLUMNS, 2)), np.empty((ROWS, 2)))
    assert len(ours._parts) == 1
    del weights
    assert len(ours._parts) == 0


@pytest.mark.mpi
@pytest.mark.parametrize("batch", [1, 48, 160])
def test_a_forward_pass(comm, ours, batch):
    layers = random_layers(SIZES, 0.5, 6, np.float64, ("relu", "tanh"))
    x = np.random.default_rng(1).normal(size=(SIZES[0], batch))
    plan = random_plan(SIZES, comm.size, 4)
    mine, forward, shard = run_forward(comm, layers, plan, x, ours)
    expected = serial_forward(layers, x)[-1][shard.ids[-1]]
    np.testing.assert_allclose(mine, expected, rtol=1e-12, atol=1e-12)
    forward.free()


@pytest.mark.mpi
def test_weights_after_some_steps_are_those_of_scipy(comm, shared_tmp, ours):
    layers = random_layers(SIZES, 0.5, 12, np.float64, ("tanh", "sigmoid", "identity"))
    rng = np.random.default_rng(7)
    labels = rng.integers(0, SIZES[-1], 60).astype(np.int32)
    if comm.rank == 0:
        with create_samples(shared_tmp / "x.h5", 60, SIZES[0], "float32") as writer:
            writer.put_inputs(0, rng.uniform(-1, 1, (SIZES[0], 60)).astype(np.float32))
            writer.put_labels(labels, SIZES[-1])
    comm.Barrier()
    found = []
    for local in (ours, ScipyKernel()):
        shard = build_shard(layers, random_plan(SIZES, comm.size, 3), comm.rank)
        with open_samples(shared_tmp / "x.h5") as samples:
            inputs = OwnInputs(samples, shard.ids[0])
        trainer = Trainer(Runtime(comm, local, Stopwatch()), shard, "cross-entropy", "exact")
        rule = optimizer("adam", 0.05)
        for step in range(6):
            trainer.step(inputs, labels, (np.arange(30) + 9 * step) % 60, rule)
        found.append([p.values for p in trainer.parameters] + [p.bias for p in trainer.parameters])
        trainer.free()
    for mine, expected in zip(*found, strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "device", "message"),
    [
        ("none", "cpu", "kernel 'none': expected one of auto, numba, scipy, torch"),
        ("auto", "gpu", "--device gpu: expected one of cpu, cuda, auto"),
        ("numba", "cuda", "kernel 'numba' computes on the CPU"),
    ],
)
def test_choices_that_cannot_be(name, device, message):
    with pytest.raises(InputError, match=message):
        check_choice(name, device)


@pytest.fixture
def alone():
    from mpi4py import MPI

    return MPI.COMM_SELF


def test_what_is_chosen_without_a_gpu(alone, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_kernel(alone, "scipy", "auto").name == "scipy"
    assert choose_kernel(alone, "auto", "auto").name == kernel("auto").name
    chosen = choose_kernel(alone, "torch", "auto")
    assert (chosen.name, chosen.device.type) == ("torch", "cpu")
    with pytest.raises(AgreedError, match="--device cuda: rank 0 has no CUDA device"):
        choose_kernel(alone, "auto", "cuda")


def test_without_torch_the_extra_is_named(alone, monkeypatch):
    monkeypatch.setattr("hpc.spdnn.kernel_choice.find_spec", lambda name: None)
    monkeypatch.delitem(sys.modules, "hpc.spdnn.torch_kernel")
    monkeypatch.setitem(sys.modules, "torch", None)
    for name, device in (("torch", "cpu"), ("torch", "auto"), ("auto", "cuda")):
        with pytest.raises(AgreedError, match=r"pip install 'relaycut\[pipebd\]'"):
            choose_kernel(alone, name, device)
    assert choose_kernel(alone, "scipy", "auto").name == "scipy"


@pytest.mark.gpu
def test_a_gpu_is_taken_where_there_is_one(alone):
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device")
    for device in ("cuda", "auto"):
        assert choose_kernel(alone, "auto", device).device.type == "cuda"
