"""Signals and deaths while the commands of Pipe-BD keep checkpoints, under mpirun."""

from __future__ import annotations

import math
import random
import signal

import pytest
import torch

from tests.deaths import killed_often, killed_while_writing
from tests.launching import run_ranks
from tests.pipebd.paced_blocks import STEP_S
from tests.pipebd.small_runs import VGG, write_images
from tests.stopping import ask, outcome, processes, started, wait_for_checkpoint

SCHEDULE = "0-4@0 5-12@1"
WIDTH = ("--width", 0.03)
BLOCKS = ("--blocks", "tests.pipebd.paced_blocks:pairs")
STEPS = 15
"""Of an epoch."""
SECONDS_EACH = 1
"""More than a run goes on training before it is killed."""
soak = (pytest.mark.soak, pytest.mark.timeout(900))


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "x.h5", 120, 20)


def common(images, root, out, epochs=6, every="4steps"):
    return [
        "--data", images, "--batch", 8, "--epochs", epochs, "--quiet", "--device", "cpu",
        "--out", out,
        *(["--checkpoint", root, "--every", every] if root else []),
    ]  # fmt: skip


def words(images, root, out, schedule=SCHEDULE):
    some = common(images, root, out)
    return ["pipebd", "train", VGG, *WIDTH, "--schedule", schedule, *some]


def weights(path):
    contents = torch.load(path)
    return contents.get("state", contents)


def same(ours, theirs):
    return ours.keys() == theirs.keys() and all(torch.equal(ours[k], theirs[k]) for k in ours)


@pytest.fixture(scope="module")
def expected(images, tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "o.pt"
    ran = run_ranks(2, "-m", "hpc", *words(images, None, out))
    assert ran.returncode == 0, ran.stderr
    return weights(out)


@pytest.mark.parametrize(("number", "whom"), [(signal.SIGUSR1, "mpirun"), (signal.SIGTERM, 1)])
def test_a_signal_keeps_and_ends(tmp_path, images, expected, number, whom):
    root, out = tmp_path / "c", tmp_path / "o.pt"
    with started(2, *words(images, root, out)) as running:
        wait_for_checkpoint(root)
        if whom == "mpirun":
            ask(running, number)
        else:
            processes(running)[whom].send_signal(number)
        code, output, errors = outcome(running)
    assert code == 3, (code, output, errors)
    assert errors.count(f"hpc: stopped by {signal.Signals(number).name} after step ") == 1, errors
    ran = run_ranks(2, "-m", "hpc", *words(images, root, out))
    assert ran.returncode == 0, ran.stderr
    assert "going on after step" in ran.stdout
    assert same(weights(out), expected)


@pytest.mark.parametrize("deaths", [3, pytest.param(20, marks=soak)])
@pytest.mark.parametrize(
    ("every", "killed"), [("4steps", killed_often), ("1steps", killed_while_writing)]
)
def test_deaths_at_random_moments(tmp_path, images, deaths, every, killed):
    """The run lasts for longer than it is left alone, in all."""
    epochs = math.ceil(deaths * SECONDS_EACH / (STEPS * STEP_S))

    def paced(root, name):
        rest = common(images, root, tmp_path / name, epochs, every)
        return ["pipebd", "train", *BLOCKS, "--lr", 1e-4, "--schedule", "0@0 1@1", *rest]

    root = tmp_path / "c"
    kept = killed(paced(root, "o.pt"), root, deaths, random.Random(deaths))
    ran = run_ranks(2, "-m", "hpc", *paced(root, "o.pt"))
    assert ran.returncode == 0, ran.stderr
    assert f"checkpoint {kept.folder}: going on after step {kept.step}" in ran.stdout
    ran = run_ranks(2, "-m", "hpc", *paced(None, "w.pt"))
    assert ran.returncode == 0, ran.stderr
    assert same(weights(tmp_path / "o.pt"), weights(tmp_path / "w.pt"))


def test_training_on_labels(tmp_path, images):
    """The same bits on as many ranks, and another number of ranks goes on as well."""
    root, out = tmp_path / "c", tmp_path / "t.pt"
    teacher = ["pipebd", "teacher", VGG, *WIDTH]
    whole = run_ranks(2, "-m", "hpc", *teacher, *common(images, None, tmp_path / "w.pt"))
    assert whole.returncode == 0, whole.stderr
    with started(2, *teacher, *common(images, root, out)) as running:
        wait_for_checkpoint(root)
        ask(running, signal.SIGTERM)
        code, _, errors = outcome(running)
    assert code == 3, errors
    ran = run_ranks(2, "-m", "hpc", *teacher, *common(images, root, out))
    assert ran.returncode == 0, ran.stderr
    assert same(weights(out), weights(tmp_path / "w.pt"))
    assert run_ranks(1, "-m", "hpc", *teacher, *common(images, root, out)).returncode == 0


def test_what_keeps_none(tmp_path, images):
    ran = run_ranks(2, "-m", "hpc", *words(images, tmp_path / "c", tmp_path / "o.pt", "dp"))
    assert ran.returncode == 2
    assert "--checkpoint: the baseline dp keeps none" in ran.stderr
    assert not (tmp_path / "c").exists()
