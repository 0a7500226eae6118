"""A rank of Pipe-BD that raises, wherever that is: the whole job ends, and says why."""

from __future__ import annotations

import pytest

from tests.launching import run_ranks as run_ranks  # marks the module
from tests.pipebd.small_runs import VGG, write_images
from tests.raising import check_raised

PLACES = {
    "reading": ("hpc.io.images:ImagesFile._read_labels", 1, 1),
    "planning": ("hpc.pipebd.pipeline:Pipeline._connect", 1, 1),
    "first exchange": ("hpc.pipebd.relay:Outlet.send", 0, 1),
    "kernel": ("hpc.pipebd.step:StudentStep.forward", 2, 3),
    "backward": ("hpc.pipebd.step:StudentStep.backward", 1, 4),
    "update": ("hpc.pipebd.step:StudentStep.update", 0, 10),
    "writing a checkpoint": ("hpc.comm.checkpoint_writing:write_part", 1, 1),
    "writing its index": ("hpc.comm.checkpoint_writing:write_index", 0, 1),
    "validation": ("hpc.pipebd.validation:Validator.run", 2, 2),
    "output": ("hpc.pipebd.train_report:write_student", 0, 1),
    "report": ("hpc.pipebd.train_report:_figures", 1, 1),
}
QUICK = ("first exchange", "backward", "writing a checkpoint", "output")
SCHEDULE = "0-4@0-1 5-12@2"


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "x.h5", 60, 20)


@pytest.mark.parametrize(
    "place",
    [pytest.param(place, marks=[] if place in QUICK else [pytest.mark.soak]) for place in PLACES],
)
def test_training(tmp_path, images, place):
    words = [
        "pipebd", "train", VGG, "--width", 0.03, "--schedule", SCHEDULE, "--data", images,
        "--batch", 8, "--epochs", 2, "--device", "cpu", "--validation", 0.2,
        "--out", tmp_path / "o.pt", "--checkpoint", tmp_path / "c", "--every", "2steps",
    ]  # fmt: skip
    check_raised(*PLACES[place], 3, words)
    assert not (tmp_path / "o.pt").exists() or place == "report"
