"""Real runs, small ones, each kept in a folder; made once for all tests here."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.launching import run_alone, run_ranks

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "hpc" / "samples" / "digits.h5"
EMULATED = ROOT / "tests" / "pipebd" / "profiles" / "a6000.json"


def done(ran):
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """Return a folder with a network `net.h5` and a plan for two ranks `plan.h5`."""
    folder = tmp_path_factory.mktemp("network")
    sizes = ("--sizes", "784,96,64,10", "--degree", "8", "--kind", "er", "--seed", "1")
    how = ("--activation", "relu,relu,identity", "--init", "scaled")
    out = ("--out", folder / "net.h5")
    done(run_alone("-m", "datasets", "random", *sizes, *how, *out))
    plan = ("--parts", "2", "--out", folder / "plan.h5")
    done(run_alone("-m", "partition", "build", folder / "net.h5", *plan))
    return folder


@pytest.fixture(scope="session")
def trained(network, tmp_path_factory):
    """Return the folder of a training on two ranks, and what it wrote to --json and --log."""
    run = tmp_path_factory.mktemp("trained") / "run"
    figures, log = run.with_name("figures.json"), run.with_name("log.jsonl")
    options = ("--plan", network / "plan.h5", "--epochs", "60", "--batch", "50", "--lr", "0.002")
    options += ("--optimizer", "adam", "--validation", "0.2")
    kept = ("--run", run, "--json", figures, "--log", log)
    command = ("-m", "hpc", "spdnn", "train", network / "net.h5", DIGITS)
    done(run_ranks(2, *command, *options, *kept))
    events = [json.loads(line) for line in log.read_text().splitlines()]
    return run, json.loads(figures.read_text()), events


@pytest.fixture(scope="session")
def inferred(network, tmp_path_factory):
    """Return the folder of an inference on two ranks that computes every column in one wave."""
    run = tmp_path_factory.mktemp("inferred") / "run"
    options = ("--plan", network / "plan.h5", "--no-merge", "--waves", "1", "--run", run)
    done(run_ranks(2, "-m", "hpc", "spdnn", "infer", network / "net.h5", DIGITS, *options))
    return run


@pytest.fixture(scope="session")
def distilled(tmp_path_factory):
    """Return the folder of a short real relay on two ranks, which validates after each epoch."""
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("distilled")
    images, run = folder / "digits.h5", folder / "run"
    done(run_alone("-m", "datasets", "digits", "--out", images))
    how = ("--width", "0.03125", "--data", images, "--epochs", "2", "--batch", "100")
    plan = ("--schedule", "0-3@0 4-12@1", "--out", folder / "student.pt")
    words = ("-m", "hpc", "pipebd", "train", "vgg16-dsconv", *how, *plan, "--run", run)
    done(run_ranks(2, *words))
    return run


@pytest.fixture(scope="session")
def relayed(tmp_path_factory):
    """Return the folder of an emulated relay on four ranks."""
    run = tmp_path_factory.mktemp("relayed") / "run"
    options = ("--emulate", EMULATED, "--schedule", "0-2@0-2 3-5@3", "--steps", "20")
    done(run_ranks(4, "-m", "hpc", "pipebd", "train", *options, "--run", run))
    return run
