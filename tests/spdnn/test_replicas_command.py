"""Replicas and devices on the command line: the same answers, and what is refused."""

import json

import numpy as np
import pytest

from hpc.io.network import open_network, write_network
from hpc.io.plan import Plan, write_plan
from hpc.io.samples import create_samples
from tests.launching import run_ranks
from tests.spdnn.serial import random_layers, random_plan

SIZES = (14, 11, 12, 5)
N = 37


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a network, a plan for two ranks and labelled inputs."""
    path = tmp_path_factory.mktemp("replicas")
    layers = random_layers(SIZES, 0.4, 1, np.float64)
    fingerprint = write_network(path / "net.h5", SIZES[0], layers)
    owners = random_plan(SIZES, 2, 1).owners
    write_plan(path / "plan.h5", Plan(2, owners, fingerprint, {}))
    rng = np.random.default_rng(3)
    with create_samples(path / "x.h5", N, SIZES[0], "float32") as writer:
        writer.put_inputs(0, rng.uniform(-1, 1, (SIZES[0], N)).astype(np.float32))
        writer.put_labels(rng.integers(0, 5, N).astype(np.int32), 5)
    return path


def run(folder, size, command, name, *options):
    """Run with files called `name`; return the figures."""
    ran = run_ranks(
        size, "-m", "hpc", "spdnn", command, folder / "net.h5", folder / "x.h5", *options,
        "--json", folder / f"{name}.json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "CSR" not in ran.stderr  # torch's warning that it is in beta
    return json.loads((folder / f"{name}.json").read_text())


def test_scores_and_figures_of_four_ranks_in_two_replicas(folder):
    found = []
    for size, replicas, kernel in ((2, 1, "scipy"), (4, 2, "scipy"), (4, 2, "torch")):
        name = f"scores{size}{kernel}"
        figures = run(
            folder, size, "infer", name, "--plan", folder / "plan.h5", "--replicas", replicas,
            "--batch", 8, "--kernel", kernel, "--scores", "--out", folder / f"{name}.tsv",
        )  # fmt: skip
        found.append((figures, (folder / f"{name}.tsv").read_bytes()))
    (one, scores), (two, same), (torch, close) = found
    assert scores == same
    np.testing.assert_allclose(*(np.loadtxt(text.splitlines()) for text in (scores, close)))
    for figures in (two, torch):
        for name in ("images", "edges", "categories", "volume_words", "messages", "columns"):
            assert figures[name] == one[name], name
    assert (two["ranks"], two["replicas"], one["replicas"]) == (4, 2, 1)
    assert (torch["kernel"], torch["device"]) == ("torch", "cpu")
    assert len(two["compute_s"]) == 4


def test_a_network_trained_by_three_replicas(folder):
    found = []
    for size in (1, 3):
        figures = run(
            folder, size, "train", f"train{size}", "--replicas", size, "--epochs", 2, "--batch", 9,
            "--validation", 0.2, "--optimizer", "adam", "--out", folder / f"trained{size}.h5",
        )  # fmt: skip
        with open_network(folder / f"trained{size}.h5") as file:
            found.append([file.rows(k, 0, n).data for k, n in enumerate(SIZES[1:])])
        assert figures["replicas"] == size
        assert figures["steps"] == 2 * 4
    for one, three in zip(*found, strict=True):
        np.testing.assert_allclose(three, one, rtol=1e-9, atol=1e-11)


def refused(folder, size, *options):
    """Run and return the one message."""
    ran = run_ranks(size, "-m", "hpc", "spdnn", *options, timeout=60)
    assert ran.returncode == 2, ran.stdout + ran.stderr
    lines = [line for line in ran.stderr.splitlines() if line.strip()]
    assert len(lines) == 1 and lines[0].startswith("hpc: error: "), ran.stderr
    return lines[0]


@pytest.mark.parametrize(
    ("command", "size", "options", "message"),
    [
        ("infer", 3, ("--replicas", "2"), "3 ranks cannot be split into 2 equal groups"),
        ("train", 2, ("--replicas", "0"), "--replicas 0: expected at least 1"),
        ("infer", 3, ("--replicas", "3"), "made for 2 ranks, each of 3 replicas has 1"),
        ("train", 2, ("--device", "tpu"), "--device tpu: expected one of cpu, cuda, auto"),
        ("infer", 2, ("--device", "cuda", "--kernel", "scipy"), "kernel 'scipy' computes on the"),
    ],
)
def test_what_is_refused_by_all(folder, command, size, options, message):
    files = folder / "net.h5", folder / "x.h5", "--plan", folder / "plan.h5"
    assert message in refused(folder, size, command, *files, *options)


def test_cuda_where_there_is_none(folder, monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    message = refused(folder, 2, "infer", folder / "net.h5", folder / "x.h5", "--device", "cuda")
    assert "--device cuda: rank 0 has no CUDA device" in message
