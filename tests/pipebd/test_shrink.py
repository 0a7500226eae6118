"""`pipebd train --on-failure shrink`: ranks die, the schedule is made anew, the answer is right."""

from __future__ import annotations

import pytest
import torch

from tests.pipebd.small_runs import VGG, write_images
from tests.survivors import began_there, needs_ulfm, outlived

pytestmark = [pytest.mark.launches, needs_ulfm]
WIDTH = ("--width", 0.03)


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "x.h5", 120, 20)


def words(images, root, out, *command):
    return [
        "pipebd", *command, *WIDTH, "--data", images, "--batch", 8, "--epochs", 6, "--quiet",
        "--device", "cpu", "--out", out, "--checkpoint", root, "--every", "2steps",
    ]  # fmt: skip


def state(path):
    contents = torch.load(path)
    return contents.get("state", contents)


def same(ours, theirs):
    mine, other = state(ours), state(theirs)
    assert mine.keys() == other.keys()
    return all(torch.equal(mine[name], other[name]) for name in mine)


@pytest.mark.parametrize(
    ("schedule", "dead", "then"),
    [
        ("0-4@0 5-8@1 9-12@2", [1], "tr+dpu"),
        ("0-4@0-1 5-12@2", [0], "tr+dpu"),
        ("tr", [2, 0], "tr"),
    ],
)
def test_the_answer_is_that_of_fewer_ranks(tmp_path, images, schedule, dead, then):
    root, out, other = tmp_path / "c", tmp_path / "o.pt", tmp_path / "w.pt"
    train = ("train", VGG, "--schedule")
    output, died = outlived(3, words(images, root, out, *train, schedule), root, dead)
    assert [text.split(" on ")[0] for text in died] == [f"rank {rank}" for rank in dead]
    assert output.count("schedule ") == 1 + len(dead)
    left = words(images, root, other, *train, then)
    began_there(3 - len(dead), left, output, root, tmp_path / "d")
    assert same(out, other)


def test_training_on_labels(tmp_path, images):
    root, out, other = tmp_path / "c", tmp_path / "o.pt", tmp_path / "w.pt"
    output, died = outlived(3, words(images, root, out, "teacher", VGG), root, [1])
    assert len(died) == 1
    began_there(2, words(images, root, other, "teacher", VGG), output, root, tmp_path / "d")
    assert same(out, other)
