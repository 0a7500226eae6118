"""The engine called from a script, with its own communicator: arrays, files, errors."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import hpc.spdnn
from hpc.comm.world import AgreedError
from hpc.io.network import Layer, open_network, read_header, write_network
from hpc.io.plan import write_plan
from hpc.io.samples import create_samples
from hpc.spdnn import Plan, TrainOptions
from tests.launching import ROOT
from tests.spdnn.serial import TorchNetwork, random_layers, random_plan, serial_forward

SIZES = (20, 31, 7, 27, 6)
ACTIVATIONS = ("relu", "tanh", "clipped-relu", "identity")


def network(dtype=np.float64):
    return random_layers(SIZES, 0.4, 5, dtype, ACTIVATIONS)


def inputs(n=45, dtype=np.float64):
    return np.random.default_rng(1).uniform(-1, 1, (n, SIZES[0])).astype(dtype)


def tuples(layers):
    """Return the layers as a user has them: other sparse formats, no Layer of ours."""
    kinds = (sparse.coo_matrix, sparse.csc_array, np.asarray, sparse.csr_matrix)
    weights = [layer.weight for layer in layers]
    made = [
        kind(w.toarray() if kind is np.asarray else w)
        for kind, w in zip(kinds, weights, strict=True)
    ]
    return [
        (weight, layer.bias, layer.activation, layer.clip)
        for weight, layer in zip(made, layers, strict=True)
    ]


@pytest.mark.mpi
def test_arrays_on_some_of_the_ranks(part):
    """The last rank takes no part at all; the others are in another order than in the world."""
    if part is None:
        return
    layers, x = network(), inputs()
    plan = random_plan(SIZES, part.size, 3)
    found = hpc.spdnn.infer(part, tuples(layers), x, plan, scores=True, batch=16)
    expected = serial_forward(layers, x.T)[-1].T
    alive = np.flatnonzero(expected.any(axis=1)) + 1
    np.testing.assert_array_equal(found.categories, alive)
    assert (found.scores is None) == (part.rank > 0)
    if found.scores is not None:
        np.testing.assert_allclose(found.scores, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", ["uint8", "bool", "float32"])
def test_other_inputs(comm, dtype):
    layers = network(np.float32)
    x = np.random.default_rng(1).integers(0, 2, (9, SIZES[0])).astype(dtype)
    found = hpc.spdnn.infer(comm, layers, x, scores=True, replicas=comm.size)
    if found.scores is not None:
        expected = serial_forward(layers, x.T.astype(np.float32))[-1].T
        np.testing.assert_allclose(found.scores, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.mpi
def test_files_and_arrays_are_the_same(comm, shared_tmp):
    layers, x = network(np.float32), inputs(dtype=np.float32)
    free = random_plan(SIZES, comm.size, 3)
    if comm.rank == 0:
        fingerprint = write_network(shared_tmp / "net.h5", SIZES[0], layers)
        plan = Plan(free.parts, free.owners, fingerprint, free.asked)
        write_plan(shared_tmp / "plan.h5", plan)
        with create_samples(shared_tmp / "x.h5", len(x), SIZES[0], "float32") as writer:
            writer.put_inputs(0, x.T)
    comm.Barrier()
    files = [shared_tmp / name for name in ("net.h5", "x.h5", "plan.h5")]
    found = [hpc.spdnn.infer(comm, *given, scores=True) for given in (files, (layers, x, free))]
    np.testing.assert_array_equal(found[0].categories, found[1].categories)
    if comm.rank == 0:
        np.testing.assert_array_equal(found[0].scores, found[1].scores)


@pytest.mark.mpi
def test_training_on_some_of_the_ranks(part, tmp_path):
    """One step on everything is what torch makes of it, in memory and in the file."""
    if part is None:
        return
    layers, x = network(), inputs(12)
    labels = np.random.default_rng(2).integers(0, SIZES[-1], len(x))
    out = tmp_path / "trained.h5" if part.rank == 0 else "unused.h5"
    trained = hpc.spdnn.train(
        part, tuples(layers), (x, labels), TrainOptions(1, len(x), 0.3), test=(x, labels),
        out=out, gather=True,
    )  # fmt: skip
    assert len(trained.history) == 1 and 0 <= trained.test_accuracy <= 1
    assert (trained.layers is None) == (part.rank > 0)
    if trained.layers is None:
        return
    reference = TorchNetwork(layers)
    loss = reference.loss(x.T, labels, "cross-entropy")
    loss.backward()
    np.testing.assert_allclose(trained.history[0].loss, loss.item(), rtol=1e-12)
    with open_network(out) as file:
        saved = list(file.layers())
    for k, (layer, same, old) in enumerate(zip(trained.layers, saved, layers, strict=True)):
        step = 0.3 * reference.weights[k].grad.numpy()
        np.testing.assert_allclose(layer.weight.toarray(), old.weight.toarray() - step, atol=1e-12)
        bias = old.bias - 0.3 * reference.biases[k].grad.numpy()
        np.testing.assert_allclose(layer.bias, bias, atol=1e-12)
        assert (layer.activation, layer.clip) == (old.activation, old.clip)
        np.testing.assert_array_equal(same.weight.toarray(), layer.weight.toarray())
        np.testing.assert_array_equal(same.bias, layer.bias)
        np.testing.assert_array_equal(layer.weight.indices, old.weight.indices)


@pytest.mark.mpi
def test_replicas_are_gathered_once(comm):
    layers, x = network(), inputs(12)
    labels = np.arange(12) % SIZES[-1]
    common = ((x, labels), TrainOptions(1, 12, 0.1))
    one = hpc.spdnn.train(comm, layers, *common, gather=True)
    two = hpc.spdnn.train(comm, layers, *common, gather=True, replicas=comm.size)
    if comm.rank == 0:
        for mine, other in zip(one.layers, two.layers, strict=True):
            np.testing.assert_allclose(mine.weight.data, other.weight.data, atol=1e-13)


BAD = {
    "no network": ({"network": []}, "no layers"),
    "widths": ({"network": [network()[0], network()[2]]}, "layer 2 takes 7 inputs"),
    "activation": ({"network": [(np.eye(20), None, "gelu")]}, "layer 1: activation 'gelu'"),
    "integers": ({"network": [(np.eye(20, dtype=int), None, "relu")]}, "float32 or float64"),
    "no matrix": ({"network": [("weights", None, "relu")]}, "weight is no matrix"),
    "bias": ({"network": [(np.eye(20), np.zeros(3), "relu")]}, "bias of shape (3,)"),
    "not finite": ({"network": [(np.full((20, 20), np.nan), 0, "relu")]}, "nan, not finite"),
    "no file": ({"network": "none.h5"}, "no such file"),
    "width of x": ({"x": np.zeros((3, 4))}, "x: inputs of width 4, the network takes 20"),
    "shape of x": ({"x": np.zeros(20)}, "x: shape (20,), expected (samples, inputs)"),
    "dtype of x": ({"x": np.zeros((3, 20), complex)}, "dtype complex128"),
    "inputs": ({"x": np.full((3, 20), np.inf)}, "sample 0 has an input that is not finite"),
    "plan": ({"plan": random_plan(SIZES, 99, 0)}, "made for 99 ranks"),
    "plan's sizes": ({"plan": "other sizes"}, "made for another network"),
    "batch": ({"batch": 0}, "batch 0"),
    "dtype": ({"dtype": "float16"}, "dtype 'float16': expected float32 or float64"),
    "kernel": ({"kernel": "magic"}, "kernel 'magic'"),
    "replicas": ({"replicas": 99}, "--replicas 99"),
}


@pytest.mark.mpi
@pytest.mark.parametrize("case", BAD)
def test_all_ranks_raise(comm, case):
    asked, message = BAD[case]
    given = {"network": network(), "x": inputs(3), **asked}
    if given.get("plan") == "other sizes":
        given["plan"] = random_plan((20, 4, 5), comm.size, 0)
    with pytest.raises(AgreedError) as error:
        hpc.spdnn.infer(comm, **given)
    assert message in str(error.value) and isinstance(error.value, ValueError)
    comm.Barrier()


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("data", "message"),
    [
        ((inputs(3), np.array([0, 1, 99])), "100 classes, the network has only 6 outputs"),
        ((inputs(3), np.array([0, -1, 2])), "label -1 of sample 1"),
        ((inputs(3), np.zeros(4, int)), "labels of shape (4,) int64, expected (3,) integers"),
        ((inputs(3), np.zeros(3)), "labels of shape (3,) float64"),
        ((inputs(3), None, None), "a tuple of 3, expected (x, labels)"),
        (inputs(3), "no labels, which training needs"),
    ],
)
def test_all_ranks_raise_for_bad_labels(comm, data, message):
    with pytest.raises(AgreedError) as error:
        hpc.spdnn.train(comm, network(), data)
    assert message in str(error.value)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["network", "x", "batch", "scores", "width"])
def test_ranks_that_ask_for_different_things_are_told(comm, name):
    if comm.size == 1:
        return
    other = {"network": network()[:2], "x": inputs(4), "batch": 7, "scores": True}
    given = {"network": network(), "x": inputs(3), "batch": 5, "scores": False}
    if name == "width":  # only on the last rank is x no array at all
        name, other["x"] = "x", [[1.0]]
    if comm.rank == comm.size - 1:
        given[name] = other[name]
    with pytest.raises(AgreedError, match=rf"{name} is .* on rank {comm.size - 1}, .* on rank 0"):
        hpc.spdnn.infer(comm, **given)


@pytest.mark.mpi
@pytest.mark.parametrize("replicas", [1, 2])
@pytest.mark.parametrize("part", ["weight", "bias", "activation"])
def test_networks_of_one_pattern_that_differ_are_told(comm, part, replicas):
    if comm.size % replicas or comm.size == 1:
        return
    layers = network()
    if comm.rank == comm.size - 1:
        weight, bias, activation = layers[-1].weight, layers[-1].bias, layers[-1].activation
        layers[-1] = {
            "weight": (weight * 2, bias, activation),
            "bias": (weight, np.add(bias, 1), activation),
            "activation": (weight, bias, "sigmoid" if activation == "tanh" else "tanh"),
        }[part]
    where = f"on rank {comm.size - 1}, .* on rank 0"
    with pytest.raises(AgreedError, match=f"weights is .* {where}"):
        hpc.spdnn.infer(comm, layers, inputs(3), replicas=replicas)


@pytest.mark.mpi
def test_what_is_wrong_on_one_rank_alone_is_raised_on_all(comm):
    x = inputs(3)
    if comm.rank == comm.size - 1:
        x[1, :] = np.nan
    with pytest.raises(AgreedError, match="sample 1 has an input that is not finite"):
        hpc.spdnn.infer(comm, network(), x)


@pytest.mark.mpi
def test_a_machine_is_the_same_on_all_ranks(comm, monkeypatch):
    from hpc.spdnn import machine_cases

    if comm.size == 1:
        with pytest.raises(AgreedError, match="needs 2 ranks"):
            hpc.spdnn.measure_machine(comm)
        return
    few = machine_cases.cases()[:1]
    monkeypatch.setattr("hpc.spdnn.machine.cases", lambda: few)
    monkeypatch.setattr("hpc.spdnn.machine.costs", lambda cases, done, seconds: float(seconds[0]))
    found = comm.allgather(hpc.spdnn.measure_machine(comm, "scipy"))
    assert all(machine == found[0] for machine in found)
    assert found[0].about["ranks"] == str(comm.size)


def test_layers_of_ours_and_of_users_are_one_network(tmp_path):
    from hpc.io.layer_list import header_of_layers, layer_list

    layers = network(np.float32)
    write_network(tmp_path / "net.h5", SIZES[0], layers)
    on_disk, in_memory = read_header(tmp_path / "net.h5"), header_of_layers(layer_list(layers))
    assert {**vars(in_memory), "path": ""} == {**vars(on_disk), "path": ""}
    (only,) = layer_list([(np.eye(3, dtype=np.float32), 0.5, "relu")])
    np.testing.assert_array_equal(only.bias, np.full(3, 0.5, np.float32))
    assert isinstance(only, Layer) and only.bias.dtype == np.float32


def test_nothing_is_imported_before_it_is_used():
    code = (
        "import sys, hpc.spdnn, hpc.pipebd; dir(hpc.spdnn);"
        "print([m for m in ('mpi4py', 'torch', 'numpy', 'h5py') if m in sys.modules]);"
        "hpc.spdnn.infer, hpc.spdnn.train, hpc.spdnn.TrainOptions; print('torch' in sys.modules);"
        "import hpc.spdnn.infer_command, hpc.spdnn.train_command;"
        "print(callable(hpc.spdnn.infer), callable(hpc.spdnn.train), callable(hpc.spdnn.export))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout == "[]\nFalse\nTrue True True\n", ran.stdout + ran.stderr
    with pytest.raises(AttributeError, match="no attribute 'infre'"):
        _ = hpc.spdnn.infre
