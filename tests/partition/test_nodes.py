"""Plans for ranks in nodes: words between them counted by hand, never dearer than the flat cut."""

import dataclasses
import json

import h5py
import numpy as np
import pytest
from scipy import sparse

from datasets.random_network import random_layers
from hpc.io.errors import InputError
from hpc.io.network import open_network
from hpc.io.plan import read_plan
from partition import cli
from partition.asked import Asked
from partition.build import build_plan, steps
from partition.hypergraph import FREE, connectivity_cut, layer_hypergraph
from partition.layer_cut import LayerCut
from partition.load import layer_load
from partition.nodes import names_in_nodes, prices, words_between
from partition.objective import Volume
from partition.patterns import Patterns
from partition.refine import refined
from partition.two_level import NodeCut
from tests.partition.networks import challenge_file, network_file


def test_words_between_by_hand():
    links = np.array([[0, 1, 2, 4], [8, 0, 0, 0], [0, 0, 0, 3], [5, 0, 0, 0]])
    assert words_between(links, 2).tolist() == [6, 0, 0, 5]
    assert prices(2, 2, 7.0).tolist() == [[1, 1, 7, 7]] * 2 + [[7, 7, 1, 1]] * 2
    assert names_in_nodes(np.array([1, 0, 1, 0])).tolist() == [2, 0, 3, 1]


def test_columns_that_no_part_owns_cost_a_word_less_than_they_reach():
    pattern = sparse.csr_array(np.ones((2, 2), np.int8))
    graph = layer_hypergraph(pattern, np.array([FREE, 1]), 2, np.array([10, 1]))
    assert graph.net_start.tolist() == [0, 2, 5] and graph.pins.tolist() == [0, 1, 0, 1, 3]
    assert connectivity_cut(graph, np.array([0, 1, 0, 1])) == 10 + 1
    assert connectivity_cut(graph, np.array([0, 0, 0, 1])) == 1


@pytest.mark.parametrize("weights", [(), (1.0, 1.0, 2.0, 3.0, 1.0, 4.0)])
def test_a_node_may_hold_what_its_ranks_may(weights):
    pytest.importorskip("kahypar")
    cut = NodeCut(Asked(6, nodes=(2, 3), weights=weights))
    shares = [0.5, 0.5] if not weights else [4 / 12, 8 / 12]
    np.testing.assert_allclose(cut.asked.shares, shares)
    rows = np.full(120, 4)
    np.testing.assert_allclose(cut.limits(rows), 480 * np.array(shares))


def brute_weighed(path, plan, ranks, cost):
    """Return the weighed words of a plan, and those between nodes, by loops over its weights."""
    weighed, between = 0, 0
    with open_network(path) as network:
        for k, layer in enumerate(network.layers()):
            below, above = plan.owners[k : k + 2]
            rows, columns = layer.weight.nonzero()
            words = {(below[j], above[i], j) for i, j in zip(rows, columns, strict=True)}
            for sender, receiver, _ in words:
                far = sender // ranks != receiver // ranks
                weighed += (cost if far else 1) * (sender != receiver)
                between += far
    return weighed, between


@pytest.mark.parametrize("weights", [(), (1.0, 2.0) * 4])
@pytest.mark.parametrize("kind", ["challenge", "er"])
def test_never_dearer_than_flat_and_as_even(tmp_path, kind, weights):
    pytest.importorskip("kahypar")
    if kind == "challenge":
        path = challenge_file(tmp_path, 4)
    else:
        path = network_file(tmp_path, list(random_layers((120,) * 4, 4, "er", 1)))
    flat = Asked(8, weights=weights)
    asked, taken = dataclasses.replace(flat, nodes=(2, 4), inter_cost=10.0), []
    with open_network(path) as network:
        plain = build_plan(network, flat).plan
        plan = build_plan(network, asked, lambda: taken.append(1)).plan
        assert len(taken) == steps(network.header.n_layers, asked)
    weighed, between = brute_weighed(path, plan, 4, 10)
    assert between == plan.between.sum()
    assert weighed < brute_weighed(path, plain, 4, 10)[0]
    shares = flat.shares
    most = [
        np.maximum((one.traffic.edges / shares).max(axis=1), 1.01 * one.traffic.edges.sum(axis=1))
        for one in (plan, plain)
    ]
    assert (most[0] <= most[1] + 1e-6).all()


@pytest.mark.parametrize("nodes", [(1, 4), (4, 1)])
def test_nodes_that_hold_all_or_one_rank_change_nothing(tmp_path, nodes):
    pytest.importorskip("kahypar")
    with open_network(challenge_file(tmp_path, 3)) as network:
        plain, plan = (
            build_plan(network, asked).plan for asked in (Asked(4), Asked(4, nodes=nodes))
        )
    assert [a.tolist() for a in plain.owners] == [a.tolist() for a in plan.owners]
    assert plan.between.sum() == (0 if nodes[0] == 1 else plan.traffic.words.sum())
    assert plain.between is None


def test_local_search_by_price(tmp_path):
    pytest.importorskip("kahypar")
    path = network_file(tmp_path, list(random_layers((60, 60, 60), 3, "er", 1)))
    objective = Volume(prices(2, 2, 10.0))
    rng = np.random.default_rng(0)
    levels = [rng.permutation(np.arange(60, dtype=np.int32) % 4) for _ in range(3)]
    with open_network(path) as network:
        patterns = Patterns(network, 3)
        out = refined(objective, patterns, levels, LayerCut(Asked(4)).limits, 4, lambda: None)
        costs = [
            sum(objective.cost(layer_load(patterns[k], s[k + 1], s[k], 4)) for k in range(2))
            for s in (levels, out)
        ]
    assert costs[1] < 0.9 * costs[0]


def test_stats_prints_words_inside_and_between(tmp_path, capsys):
    pytest.importorskip("kahypar")
    network, out, figures = challenge_file(tmp_path, 2), tmp_path / "p.h5", tmp_path / "s.json"
    options = ["--nodes", "2x2", "--inter-cost", "4"]
    cli.main(["build", str(network), "--parts", "4", *options, "--out", str(out)])
    capsys.readouterr()
    cli.main(["stats", str(out), "--json", str(figures)])
    said, found = capsys.readouterr().out, json.loads(figures.read_text())
    plan = read_plan(out)
    assert found["words_between"] == plan.between.sum()
    assert found["words_inside"] + found["words_between"] == found["volume_words"]
    assert f"2 nodes of 2 ranks: {found['words_inside']:,} words per input inside" in said
    with h5py.File(out, "r+") as file:  # a plan of an older program
        asked = json.loads(file.attrs["asked"])
        file.attrs["asked"] = json.dumps({k: v for k, v in asked.items() if k != "nodes"})
        del file["between"]
    cli.main(["stats", str(out), "--json", str(figures)])
    assert "inside" not in capsys.readouterr().out
    assert "words_between" not in json.loads(figures.read_text())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--nodes", "2x3"], "--nodes 2x3: 6 ranks for 4 parts, expected as many"),
        (["--nodes", "0x4"], "--nodes 0x4: 0 ranks for 4 parts"),
        (["--nodes", "4"], "--nodes 4: expected NxR"),
        (["--nodes", "2x2x1"], "--nodes 2x2x1: expected NxR"),
        (["--nodes", "2x2", "--inter-cost", "0.5"], "--inter-cost 0.5: expected 1..1000"),
        (["--nodes", "2x2", "--inter-cost", "nan"], "--inter-cost nan: expected 1..1000"),
        (["--nodes", "2x2", "--inter-cost", "1e18"], r"--inter-cost 1e\+18: expected 1..1000"),
        (["--inter-cost", "2"], "--inter-cost goes with --nodes"),
        (["--nodes", "2x2", "--objective", "messages"], "--nodes goes with .* --objective volume"),
        (["--nodes", "2x2", "--method", "random"], "--nodes goes with --method hypergraph"),
    ],
)
def test_bad_options(tmp_path, options, message):
    network, out = challenge_file(tmp_path, 1), str(tmp_path / "p.h5")
    with pytest.raises(InputError, match=message):
        cli.main(["build", str(network), "--parts", "4", *options, "--out", out])
