"""What the command line refuses, in one line; layers without weights; networks read in pieces."""

import os
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from datasets.random_network import random_layers
from hpc.io.errors import InputError, run_tool
from hpc.io.machine import Costs, Rates
from hpc.io.network import Layer, open_network
from partition import backends, cli
from partition.asked import Asked
from partition.build import build_plan
from tests.cuts import brute_words
from tests.partition.networks import challenge_file, network_file

COSTS = Costs((1,), (1,), (Rates(5e-6, 5e-10, 1e-9, 3e-6, 2e-9),))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--parts", "0"], "0 parts: "),
        (["--parts", "1025"], "1025 parts: "),
        (["--parts", "2", "--epsilon", "-0.5"], "--epsilon -0.5: expected 0..1e+06"),
        (["--parts", "2", "--epsilon", "nan"], "--epsilon nan: expected 0..1e+06"),
        (["--parts", "2", "--weights", "1,two"], "--weights 1,two: expected numbers"),
        (["--parts", "2", "--weights", "1"], "--weights: 1 numbers for 2 parts"),
        (["--parts", "2", "--epsilon", "1e300"], "--epsilon 1e+300: expected 0..1e+06"),
        (["--parts", "2", "--weights", "1e-300,1e300"], "none more than 1e+06 times another"),
        (["--parts", "2", "--weights", "1,-1"], "--weights: -1 for rank 1, expected a number"),
    ],
)
def test_one_line_and_exit_code_2(tmp_path, monkeypatch, capsys, options, message):
    network, out = challenge_file(tmp_path, 1), tmp_path / "p.h5"
    monkeypatch.setattr(
        "sys.argv", ["partition", "build", str(network), *options, "--out", str(out)]
    )
    assert run_tool("partition", cli.main) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1
    assert said.err.startswith("partition: error: ") and message in said.err
    assert not out.exists()


@pytest.mark.parametrize("command", [("compare", "n.h5"), ("predict", "p.h5", "--machine", "m")])
@pytest.mark.parametrize("parts", ["2,x", "", "-1"])
def test_numbers_of_ranks(command, parts):
    with pytest.raises(InputError, match=f"{parts!r}: expected numbers of ranks: 2,4,8"):
        cli.main([*command, f"--parts={parts}"])


@pytest.mark.parametrize(
    ("backend", "missing"), [("kahypar", "kahypar"), ("mtkahypar", "mtkahypar")]
)
def test_a_partitioner_that_is_not_installed_names_the_extra(
    tmp_path, monkeypatch, backend, missing
):
    real = backends.importlib.import_module

    def absent(name, *more):
        if name == missing:
            raise ModuleNotFoundError(name)
        return real(name, *more)

    monkeypatch.setattr(backends.importlib, "import_module", absent)
    network, out = challenge_file(tmp_path, 1), tmp_path / "p.h5"
    expected = rf"needs {missing}: pip install 'relaycut\[partition\]'"
    with pytest.raises(InputError, match=expected):
        cli.main(["build", str(network), "--parts", "2", "--backend", backend, "--out", str(out)])
    assert not out.exists()


@pytest.mark.parametrize(
    "more", [{}, {"nodes": (2, 2)}, {"objective": "messages"}, {"costs": COSTS}]
)
def test_layers_without_weights(tmp_path, more):
    """An empty layer costs nothing, and its neurons are dealt out evenly."""
    pytest.importorskip("kahypar")
    if "costs" in more:
        more = more | {"objective": "time"}
    full, after = random_layers((40, 40, 40), 4, "er", 1)
    empty = Layer(sparse.csr_array((40, 40), dtype=np.float32), np.zeros(40, np.float32), "relu")
    layers = [empty, full, empty, after]
    with open_network(network_file(tmp_path, layers)) as network:
        plan = build_plan(network, Asked(4, **more)).plan
    for k in (0, 2):
        assert plan.traffic.words[k].sum() == plan.traffic.messages[k].sum() == 0
    for k in (1, 3):
        words = brute_words(layers[k].weight, plan.owners[k], plan.owners[k + 1], 4)
        assert words.sum() == plan.traffic.words[k].sum()


def test_memory_does_not_grow_with_the_number_of_layers(tmp_path):
    pytest.importorskip("kahypar")
    peaks = []
    for n_layers in (8, 24):
        folder = tmp_path / str(n_layers)
        folder.mkdir()
        sizes = (128,) * (n_layers + 1)
        path = network_file(folder, list(random_layers(sizes, 32, "er", 1)))
        with open_network(path) as network:
            tracemalloc.start()
            build_plan(network, Asked(2, window=1, objective="messages"))
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    pattern_bytes = 128 * 32 * 5
    assert peaks[1] - peaks[0] < 16 * pattern_bytes / 2


@pytest.mark.parametrize(
    "more", [["--objective", "messages"], ["--nodes", "2x2"], ["--backend", "mtkahypar"]]
)
def test_ctrl_c_while_searching_leaves_no_plan(tmp_path, monkeypatch, more):
    pytest.importorskip("kahypar")

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("partition.layer_cut.repair", interrupted)
    network = challenge_file(tmp_path, 2)
    before = sorted(os.listdir(tmp_path))
    arguments = ["build", str(network), "--parts", "4", *more, "--out", str(tmp_path / "p.h5")]
    monkeypatch.setattr("sys.argv", ["partition", *arguments])
    assert run_tool("partition", cli.main) == 130
    assert sorted(os.listdir(tmp_path)) == before
