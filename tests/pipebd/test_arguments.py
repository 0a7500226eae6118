"""Arguments of other types, on all ranks or on one: ValueError on all, in one line."""

import numpy as np
import pytest
import torch
from torch import nn

import hpc.pipebd
from hpc.comm.world import AgreedError
from hpc.io.errors import InputError
from hpc.pipebd import BlockPair, CheckpointOptions, Recipe, SgdSettings, TrainingOptions
from tests.pipebd.profile_cases import FOLDER


def made(kind, *given, **more):
    """Return an object with values of any types."""
    return kind(*given, **more)


WHOLE = "expected a whole number"
PAIRS = "expected a list of at least one BlockPair"
IMAGES = "expected an images file or a tuple (images, labels)"
SMALL = {"device": "cpu", "data": (np.ones((6, 5), np.float32), np.arange(6) % 4)}
RUN = {
    "blocks": [
        (None, f"blocks: None, {PAIRS}"),
        (5, f"blocks: 5 (int), {PAIRS}"),
        (nn.Linear(5, 4), f"(Linear), {PAIRS}"),
        (np.ones(3), f"blocks: ndarray of shape (3,), {PAIRS}"),
        (made(Recipe, blocks=5), "blocks: 5 (int), expected text"),
        (made(Recipe, "vgg16-dsconv", width="1"), "width: '1' (str), expected a number"),
    ],
    "data": [
        (None, f"data: train: None, {IMAGES}"),
        (list(SMALL["data"]), f"(list), {IMAGES}"),
        (([[1], [1, 2]], SMALL["data"][1]), "data: train images: [[1], [1, 2]] (list), expected"),
        ((torch.ones(6, 5, requires_grad=True), SMALL["data"][1]), "Tensor of shape (6, 5)"),
        ((SMALL["data"][0], None), "data: train labels: None, expected (6,) integers"),
    ],
    "dtype": [(torch.float32, "dtype: torch.float32 (dtype), expected text")],
    "seed": [("a", "seed: 'a' (str), expected a whole number of at least 0")],
    "device": [(None, "device: None, expected text")],
    "transport": [(5, "transport: 5 (int), expected text")],
}
TRAIN = RUN | {
    "schedule": [(None, "schedule: None, expected text"), (["ahd"], "schedule: ['ahd'] (list)")],
    "options": [
        ({}, "options: {} (dict), expected TrainingOptions"),
        (made(TrainingOptions, "6"), f"batch: '6' (str), {WHOLE}"),
        (made(TrainingOptions, 6, epochs=1.5), f"epochs: 1.5 (float), {WHOLE}"),
        (made(TrainingOptions, 6, lr="0.1"), "lr: '0.1' (str), expected a number or None"),
        (made(TrainingOptions, 6, validation=None), "validation: None, expected a number"),
        (made(TrainingOptions, 6, max_steps=0), "max_steps 0: expected at least 1"),
        (made(TrainingOptions, 6, teacher=5), "teacher: 5 (int), expected a path or None"),
        (made(TrainingOptions, 6, architecture=5), "architecture: 5 (int), expected Architecture"),
    ],
    "profile": [({}, "profile: {} (dict), expected a path, a Profile or None")],
    "profile_steps": [("5", f"profile_steps: '5' (str), {WHOLE}")],
    "queue": [(1.5, f"queue: 1.5 (float), {WHOLE}")],
    "out": [(5, "out: 5 (int), expected a path or None")],
    "checkpoint": [
        ("folder", "checkpoint: 'folder' (str), expected CheckpointOptions or None"),
        (made(CheckpointOptions, "c", "10m"), "every: '10m' (str), expected an Every"),
    ],
    "on_epoch": [(None, "on_epoch: None, expected a function")],
    "progress": [(5, "progress: 5 (int), expected a function")],
}
PROFILE = RUN | {
    "batch": [("6", f"batch: '6' (str), {WHOLE}"), (None, f"batch: None, {WHOLE}")],
    "steps": [(1.5, f"steps: 1.5 (float), {WHOLE}")],
}
MODULE = "expected a module of torch"
EVALUATE = {
    "model": [
        (None, f"model: None, {MODULE}"),
        (nn.Linear, f"model: the class Linear, {MODULE}"),
        (abs, f"(builtin_function_or_method), {MODULE}"),
    ],
    "data": RUN["data"],
    "batch": PROFILE["batch"],
    "device": RUN["device"],
    "transport": RUN["transport"],
}
FINETUNE = EVALUATE | {
    "settings": [
        (None, "settings: None, expected SgdSettings"),
        (0.1, "settings: 0.1 (float), expected SgdSettings"),
        (made(SgdSettings, "0.1"), "lr: '0.1' (str), expected a number"),
        (made(SgdSettings, -1), "lr -1: expected a positive number"),
        (made(SgdSettings, 0.1, momentum=-1), "momentum -1: expected a number of at least 0"),
        (made(SgdSettings, 0.1, nesterov=True), "nesterov: needs a momentum above 0"),
        (made(SgdSettings, 0.1, schedule="step"), "schedule 'step': expected constant or cosine"),
    ],
    "epochs": [("1", f"epochs: '1' (str), {WHOLE}")],
    "validation": [("a", "validation: 'a' (str), expected a number")],
    "smoothing": [
        (None, "smoothing: None, expected a number"),
        (2.0, "smoothing 2.0: expected a number from 0 to 1"),
    ],
    "seed": RUN["seed"],
    "checkpoint": TRAIN["checkpoint"],
    "on_epoch": TRAIN["on_epoch"],
}
CALLS = {
    "train": (TRAIN, {"options": TrainingOptions(6), "schedule": "ir"}),
    "profile": (PROFILE, {"batch": 6, "steps": 1}),
    "finetune": (FINETUNE, {"settings": SgdSettings(0.1), "batch": 6, "epochs": 1}),
    "evaluate": (EVALUATE, {"batch": 6}),
}
CASES = [
    (call, name, *case)
    for call, (table, _) in CALLS.items()
    for name, every in table.items()
    for case in every
]


def same_model():
    """Return a network, the same on all ranks."""
    torch.manual_seed(3)
    return nn.Linear(5, 4)


def run(comm, call, **given):
    ordinary = SMALL | CALLS[call][1]
    if call in ("train", "profile"):
        ordinary["blocks"] = [BlockPair(same_model(), same_model())]
    else:
        ordinary["model"] = same_model()
    return getattr(hpc.pipebd, call)(comm, **{**ordinary, **given})


@pytest.mark.mpi
@pytest.mark.parametrize(("call", "name", "value", "message"), CASES)
def test_all_ranks_raise(comm, call, name, value, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for everywhere in (True, False):
        given = {name: value} if everywhere or comm.rank == comm.size - 1 else {}
        with pytest.raises(AgreedError) as raised:
            run(comm, call, **given)
        if everywhere:
            assert message in str(raised.value)
        comm.Barrier()


PLANNED = (FOLDER / "a6000.json", 2)
ALONE = [
    ("plan", (None, 2), "profile: None, expected a path or a Profile"),
    ("plan", (PLANNED[0], "2"), f"ranks: '2' (str), {WHOLE}"),
    ("plan", (*PLANNED, None), "schedule: None, expected text"),
    ("plan", (*PLANNED, "ahd", "8GiB"), f"memory_limit: '8GiB' (str), {WHOLE} or None"),
    ("export", (None, "x.pt"), "student: None, expected a path"),
    ("export", ("s.pt", 5), "to: 5 (int), expected a path"),
    ("export", ("s.pt", "x.pt", 5), "form: 5 (int), expected text or None"),
    ("export", ("s.pt", "x.pt", None, 5), "input_shape: 5 (int), expected whole numbers or None"),
    ("BlockPair", (5, nn.Identity()), f"teacher: 5 (int), {MODULE}"),
    ("BlockPair", (nn.Identity(), None), f"student: None, {MODULE}"),
]


@pytest.mark.parametrize(("call", "given", "message"), ALONE)
def test_functions_of_one_process(call, given, message):
    with pytest.raises(InputError) as raised:
        getattr(hpc.pipebd, call)(*given)
    assert str(raised.value) == message
