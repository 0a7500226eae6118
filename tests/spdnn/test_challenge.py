"""The official Challenge network gives the official categories, however it is cut."""

import json

import pytest

from hpc.samples import sample_path
from tests.launching import run_alone, run_ranks

IMAGES = sample_path("challenge-1024")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the network N = 1024, L = 120."""
    path = tmp_path_factory.mktemp("challenge")
    made = run_alone(
        "-m", "datasets", "graph-challenge", "--neurons", 1024, "--layers", 120,
        "--out", path / "net.h5",
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return path


def infer(size, folder, network, *options, timeout=120):
    figures = folder / "figures.json"
    ran = run_ranks(
        size, "-m", "hpc", "spdnn", "infer", network, IMAGES, "--categories", "kept",
        "--json", figures, *options, timeout=timeout,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return json.loads(figures.read_text())


def check(figures, size, stats=None):
    assert figures["categories"] == 73
    assert figures["categories_agree"] is True
    assert figures["ranks"] == size
    assert len(figures["compute_s"]) == len(figures["wait_s"]) == size
    assert figures["words_received"] == figures["words_sent"]
    if stats:
        assert figures["volume_words"] == stats["volume_words"]
        assert figures["messages"] == stats["messages"]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("method", ["hypergraph", "random", "block"])
def test_official_categories(folder, size, method):
    network, plan = folder / "net.h5", folder / f"{method}{size}.h5"
    built = run_alone(
        "-m", "partition", "build", network, "--parts", size, "--method", method, "--out", plan
    )
    assert built.returncode == 0, built.stderr
    asked = run_alone("-m", "partition", "stats", plan, "--json", folder / "stats.json")
    assert asked.returncode == 0, asked.stderr
    stats = json.loads((folder / "stats.json").read_text())
    check(infer(size, folder, network, "--plan", plan, "--no-merge"), size, stats)


@pytest.mark.parametrize("size", [1, 3])
def test_a_sharded_network(folder, size):
    network, plan, sharded = (folder / f"{name}.h5" for name in ("net", "p", "sharded"))
    run_alone("-m", "partition", "build", network, "--parts", size, "--out", plan)
    made = run_alone("-m", "partition", "shard", network, plan, "--out", sharded)
    assert made.returncode == 0, made.stderr
    check(infer(size, folder, sharded, "--batch", 500), size)


@pytest.mark.parametrize("size", [1, 3])
def test_equal_inputs_are_computed_once(folder, size):
    figures = infer(size, folder, folder / "net.h5", "--batch", 1024)
    check(figures, size)
    assert figures["columns"][0] == 2048
    assert figures["columns"][-1] < 20


def test_no_plan_odd_batch_and_double_precision(folder):
    check(infer(2, folder, folder / "net.h5", "--batch", 997, "--dtype", "float64"), 2)


def test_categories_file_and_scores_say_the_same(folder):
    infer(2, folder, folder / "net.h5", "--out", folder / "categories.tsv")
    infer(2, folder, folder / "net.h5", "--scores", "--out", folder / "scores.tsv")
    categories = [int(line) for line in (folder / "categories.tsv").read_text().splitlines()]
    alive = []
    for line in (folder / "scores.tsv").read_text().splitlines():
        number, *values = line.split("\t")
        assert len(values) == 1024
        if any(float(value) for value in values):
            alive.append(int(number))
    assert alive == categories


def test_categories_that_differ_are_reported(folder):
    truth = folder / "truth.tsv"
    truth.write_text("1\n2\n70000\n")
    ran = run_ranks(
        2, "-m", "hpc", "spdnn", "infer", folder / "net.h5", IMAGES, "--categories", truth
    )
    assert ran.returncode == 1
    assert "DIFFERENT" in ran.stdout


@pytest.mark.slow
def test_all_60000_images(folder, shared_data):
    images = folder / "all.h5"
    made = run_alone(
        "-m", "datasets", "graph-challenge", "--images-from", shared_data / "mnist",
        "--neurons", 1024, "--out", images, timeout=170,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    truth = shared_data / "graph-challenge" / "neuron1024-l120-categories.tsv"
    ran = run_ranks(
        2, "-m", "hpc", "spdnn", "infer", folder / "net.h5", images, "--categories", truth,
        "--batch", 2048, "--json", folder / "all.json", timeout=900,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert json.loads((folder / "all.json").read_text())["categories"] == 1812
