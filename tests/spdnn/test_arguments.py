"""Arguments of other types, on all ranks or on one: ValueError on all, in one line."""

import numpy as np
import pytest
from scipy import sparse

import hpc.spdnn
from hpc.comm.world import AgreedError
from hpc.io.checkpoint_options import Every
from hpc.spdnn import CheckpointOptions, TrainOptions


def options(*given, **more):
    """Return options of any types."""
    return TrainOptions(*given, **more)


def kept(*given, **more):
    """Return what is asked of checkpoints, of any types."""
    return CheckpointOptions(*given, **more)


def every(**given):
    """Return how often, of any types."""
    return Every(**given)


WEIGHTS = sparse.random_array((5, 5), density=0.9, format="csr", rng=np.random.default_rng(1))
LAYER = (WEIGHTS, None, "relu")
X, LABELS = np.ones((4, 5)), np.arange(4)
WHOLE = "expected a whole number"
LAYERS = "expected a path, or a list of (weight, bias, activation)"
SAMPLES = "expected a samples file, an array (samples, inputs), or a tuple (x, labels)"
INFER = {
    "network": [
        (None, f"network: None, {LAYERS}"),
        (np.eye(5), f"network: ndarray of shape (5, 5), {LAYERS}"),
        (WEIGHTS, f"network: csr_array of shape (5, 5), {LAYERS}"),
        (5, f"network: 5 (int), {LAYERS}"),
        ({"a": LAYER}, f"(dict), {LAYERS}"),
        ([WEIGHTS], "network: layer 1: csr_array of shape (5, 5), expected (weight, bias,"),
        ([(WEIGHTS, "zero", "relu")], "network: layer 1: bias: 'zero' (str), expected (5,) num"),
        ([(WEIGHTS, [[1], [1, 2]], "relu")], "network: layer 1: bias: [[1], [1, 2]] (list)"),
        ([(WEIGHTS, ["a"] * 5, "relu")], "network: layer 1: bias: ['a', "),
        ([(WEIGHTS, None, "clipped-relu", "x")], "layer 1: clip: 'x' (str), expected a number"),
        ([(WEIGHTS, None, 5)], "layer 1: activation 5, expected one of"),
    ],
    "x": [
        (None, f"x: None, {SAMPLES}"),
        (5, f"x: 5 (int), {SAMPLES}"),
        ([[1.0], [1.0, 2.0]], f"x: [[1.0], [1.0, 2.0]] (list), {SAMPLES}"),
        (sparse.csr_array(X), f"x: csr_array of shape (4, 5), {SAMPLES}"),
    ],
    "plan": [
        ([1, 2], "plan: [1, 2] (list), expected a path, a Plan or None"),
        (5, "plan: 5 (int)"),
    ],
    "scores": [("yes", "scores: 'yes' (str), expected True or False")],
    "batch": [
        ("5", f"batch: '5' (str), {WHOLE}"),
        (2.5, f"batch: 2.5 (float), {WHOLE}"),
        (None, f"batch: None, {WHOLE}"),
        (True, f"batch: True, {WHOLE}"),
    ],
    "dtype": [(np.float32, "dtype: the class float32, expected 'float32', 'float64' or None")],
    "kernel": [(None, "kernel: None, expected text")],
    "device": [(5, "device: 5 (int), expected text")],
    "threads": [("2", f"threads: '2' (str), {WHOLE}")],
    "merge": [(np.ones(2), "merge: ndarray of shape (2,), expected True or False")],
    "replicas": [("1", f"replicas: '1' (str), {WHOLE}")],
    "waves": [(1.5, f"waves: 1.5 (float), {WHOLE} or None")],
    "progress": [(None, "progress: None, expected a function")],
}
TRAIN = {
    "data": [
        (None, f"data: None, {SAMPLES}"),
        ([X, LABELS], SAMPLES),
        ((X, "labels"), "data: labels: 'labels' (str), expected (4,) integers"),
    ],
    "options": [
        ({}, "options: {} (dict), expected TrainOptions"),
        (TrainOptions, "options: the class TrainOptions, expected TrainOptions"),
        (options(epochs="5"), f"epochs: '5' (str), {WHOLE}"),
        (options(batch=2.5), f"batch: 2.5 (float), {WHOLE}"),
        (options(lr="0.1"), "lr: '0.1' (str), expected a number"),
        (options(loss=None), "loss: None, expected text"),
        (options(optimizer=5), "optimizer: 5 (int), expected text"),
        (options(gradient=5), "gradient: 5 (int), expected text"),
        (options(validation=None), "validation: None, expected a number"),
        (options(seed=-1), "seed: -1 (int), expected a whole number of at least 0"),
    ],
    "test": [(5, f"test: 5 (int), {SAMPLES}")],
    "out": [(5, "out: 5 (int), expected a path or None")],
    "gather": [(1, "gather: 1 (int), expected True or False")],
    "checkpoint": [
        ("folder", "checkpoint: 'folder' (str), expected CheckpointOptions or None"),
        (kept(5, Every(1)), "root: 5 (int), expected a path"),
        (kept("c", "10m"), "every: '10m' (str), expected an Every"),
        (kept("c", Every()), "expected seconds or steps, above 0"),
        (kept("c", every(steps="3")), "steps: '3' (str), expected a whole number"),
        (kept("c", Every(1), keep=0), "keep 0: expected at least 1"),
        (kept("c", Every(1), keep="3"), "keep: '3' (str), expected a whole number"),
    ],
    "on_epoch": [(3, "on_epoch: 3 (int), expected a function")],
}


def cases(table):
    return [(name, *case) for name, every in table.items() for case in every]


def infer(comm, **given):
    return hpc.spdnn.infer(comm, **{"network": [LAYER], "x": X, **given})


def train(comm, **given):
    ordinary = {"network": [LAYER], "data": (X, LABELS), "options": TrainOptions(1)}
    return hpc.spdnn.train(comm, **{**ordinary, **given})


def check(comm, call, name, value, message):
    """Check what is said where the value comes on all ranks, and on the last one only."""
    for everywhere in (True, False):
        given = {name: value} if everywhere or comm.rank == comm.size - 1 else {}
        with pytest.raises(AgreedError) as raised:
            call(comm, **given)
        if everywhere:
            assert message in str(raised.value)
        comm.Barrier()


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "value", "message"), cases(INFER))
def test_inference(comm, name, value, message):
    check(comm, infer, name, value, message)


@pytest.mark.mpi
@pytest.mark.parametrize(("name", "value", "message"), cases(TRAIN))
def test_training(comm, name, value, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    check(comm, train, name, value, message)


@pytest.mark.mpi
def test_a_machine(comm):
    with pytest.raises(AgreedError, match="kernel: None, expected text"):
        hpc.spdnn.measure_machine(comm, None)


def test_an_export():
    for given, message in (
        ((None, "x.npz"), "network: None, expected a path"),
        (("n.h5", 5), "to: 5 (int), expected a path"),
        (("n.h5", "x.npz", 5), "form: 5 (int), expected text or None"),
    ):
        with pytest.raises(ValueError) as raised:
            hpc.spdnn.export(*given)
        assert str(raised.value) == message


@pytest.mark.mpi
def test_other_kinds_of_the_same_are_taken(comm, shared_tmp):
    found = infer(comm, network=((w, b, a) for w, b, a in [LAYER]), x=X.tolist(), batch=np.int64(3))
    assert found.categories.tolist() == infer(comm).categories.tolist()
    train(comm, checkpoint=kept(str(shared_tmp / "kept"), Every(steps=1)))
    assert (shared_tmp / "kept").is_dir()
