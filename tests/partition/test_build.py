"""Plans: what they promise about volume and balance, counted again from their owners."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from datasets.random_network import random_layers
from hpc.io.errors import InputError
from hpc.io.network import Layer, open_network
from hpc.io.shard import build_shards
from partition.asked import Asked
from partition.balance import equal_shares, least_load, spread
from partition.build import build_plan
from partition.methods import METHODS
from tests.partition.networks import challenge_file, network_file
from tests.spdnn.serial import random_layers as ragged_layers

pytest.importorskip("kahypar")


def build(path, parts, method="hypergraph", epsilon=0.01, seed=0):
    with open_network(path) as network:
        return build_plan(network, Asked(parts, method, epsilon, seed))


def loads_of(path, plan):
    """Return the weights of each part in each layer, (L, P), from the owners alone."""
    with open_network(path) as network:
        return np.array(
            [
                np.bincount(owners, np.diff(layer.weight.indptr), plan.parts)
                for layer, owners in zip(network.layers(), plan.owners[1:], strict=True)
            ]
        )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parts", [1, 3, 8])
def test_the_traffic_in_a_plan_is_what_its_shards_send(tmp_path, method, parts):
    path = challenge_file(tmp_path)
    plan = build(path, parts, method).plan
    with open_network(path) as network:
        shards = build_shards(network.layers(), plan, range(parts))
    for k in range(4):
        sends = [shard.layers[k].sends for shard in shards]
        assert [sum(len(rows) for _, rows in one) for one in sends] == plan.traffic.words[
            k
        ].tolist()
        assert [len(one) for one in sends] == plan.traffic.messages[k].tolist()
        assert [shard.layers[k].n_edges for shard in shards] == plan.traffic.edges[k].tolist()
    again = build(path, parts, "random").plan
    np.testing.assert_array_equal(plan.random_traffic.words, again.traffic.words)
    assert plan.fingerprint and plan.asked["method"] == method


@pytest.mark.parametrize(("parts", "most"), [(8, 0.15), (32, 0.08)])
def test_hypergraph_plans_of_the_challenge_are_small_and_even(tmp_path, parts, most):
    path = challenge_file(tmp_path, 8)  # six base layers, then permuted ones
    built = build(path, parts)
    traffic = built.plan.traffic
    assert traffic.words.sum() <= most * built.plan.random_traffic.words.sum()
    loads = loads_of(path, built.plan)
    assert (loads.max(axis=1) <= 1.01 * loads.mean(axis=1)).all()
    assert built.shortfalls == ()


def test_the_random_baseline_costs_what_theory_says(tmp_path):
    """A column's 32 rows reach (P-1)(1 - (1-1/P)^32) other parts on average."""
    plan = build(challenge_file(tmp_path), 8, "random").plan
    expected = 1024 * 7 * (1 - (7 / 8) ** 32)
    assert plan.traffic.words.sum(axis=1) == pytest.approx([expected] * 4, rel=0.02)
    assert plan.traffic.edges.tolist() == [[4096] * 8] * 4


@pytest.mark.parametrize("kind", ["er", "powerlaw", "block"])
@pytest.mark.parametrize("parts", [2, 5, 16])
def test_irregular_layers_are_as_even_as_their_rows_allow(tmp_path, kind, parts):
    layers = list(random_layers((120, 90, 100, 10), 8, kind, 1))
    path = network_file(tmp_path, layers)
    plan = build(path, parts).plan
    for layer, loads in zip(layers, loads_of(path, plan), strict=True):
        weights = np.diff(layer.weight.indptr)
        allowed = max(int(1.01 * loads.mean() + 1e-9), least_load(weights, parts))
        if len(weights) < 90:  # so few rows may not pack that tightly
            packed = np.bincount(spread(weights, equal_shares(parts)), weights, parts)
            allowed = max(allowed, packed.max())
        assert loads.max() <= allowed
    assert plan.traffic.words.sum() < plan.random_traffic.words.sum()


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None
)
@given(
    st.lists(st.integers(1, 14), min_size=2, max_size=4),
    st.floats(0, 1),
    st.integers(0, 2**32 - 1),
    st.data(),
)
def test_any_network_gets_a_whole_plan(tmp_path, sizes, density, seed, data):
    """Empty rows, empty columns, empty layers, more parts than a layer has rows."""
    path = network_file(tmp_path, ragged_layers(sizes, density, seed))
    parts = data.draw(st.integers(1, max(sizes[1:])))
    plan = build(path, parts).plan
    assert plan.sizes == tuple(sizes)
    for owners in plan.owners:
        assert owners.dtype == np.int32 and owners.min() >= 0 and owners.max() < parts


def test_the_same_seed_gives_the_same_plan(tmp_path):
    path = challenge_file(tmp_path, 8)
    first, again, other = (build(path, 8, seed=seed).plan for seed in (1, 1, 2))
    assert all(
        mine.tolist() == theirs.tolist()
        for mine, theirs in zip(first.owners, again.owners, strict=True)
    )
    assert any((a != b).any() for a, b in zip(first.owners, other.owners, strict=True))


def test_rows_without_weights_even_out_how_many_rows_parts_have(tmp_path):
    dense = np.zeros((9, 4))
    dense[:3, 0] = 1
    layer = Layer(sparse.csr_array(dense), np.zeros(9), "relu")
    plan = build(network_file(tmp_path, [layer]), 3).plan
    assert np.bincount(plan.owners[1]).tolist() == [3, 3, 3]
    assert sorted(plan.owners[1][:3].tolist()) == [0, 1, 2]


def test_a_row_too_heavy_is_named_and_the_rest_stays_even(tmp_path):
    dense = np.ones((7, 40))
    dense[1:, 6:] = 0
    layer = Layer(sparse.csr_array(dense), np.zeros(7), "relu")
    path = network_file(tmp_path, [layer])
    built = build(path, 3)
    assert len(built.shortfalls) == 1
    assert "layer 1" in built.shortfalls[0] and "row 0 alone has 40 weights" in built.shortfalls[0]
    assert sorted(loads_of(path, built.plan)[0].tolist())[-1] == 40


def test_rows_that_do_not_divide_are_noted(tmp_path):
    built = build(challenge_file(tmp_path, 2), 60)
    assert len(built.shortfalls) == 2
    assert "do not divide more evenly over 60 parts" in built.shortfalls[0]
    assert built.plan.traffic.imbalance.max() == pytest.approx(18 * 60 / 1024 - 1)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Asked(0, "block"), r"0 parts: .* has 1024 rows in all layers, expected 1\.\.1024"),
        (Asked(1025, "block"), r"1025 parts: .* expected 1\.\.1024"),
        (Asked(2, "magic"), "--method magic: expected one of hypergraph, random, block"),
        (Asked(2, "block", -0.1), "--epsilon -0.1: expected 0"),
        (Asked(2, "block", float("nan")), "--epsilon nan"),
        (Asked(2, "block", 0.01, -1), "--seed -1: expected 0"),
        (Asked(2, "block", 0.01, 2**31), "--seed 2147483648"),
        (Asked(2, window=0), r"--window 0: expected auto or 1\.\.6"),
        (Asked(2, window=7), "--window 7"),
        (Asked(2, backend="patoh"), "--backend patoh: expected one of kahypar, mtkahypar"),
        (Asked(2, preset="fast"), "--preset fast: expected one of default, quality"),
        (Asked(2, threads=0), "--threads 0: expected 1 or more"),
        (Asked(3, weights=(1.0, 2.0)), "--weights: 2 numbers for 3 parts"),
        (Asked(2, weights=(1.0, 0.0)), "--weights: 0 for rank 1, expected a number above 0"),
        (Asked(2, weights=(float("inf"), 1.0)), "--weights: inf for rank 0"),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path, asked, message):
    with (
        open_network(challenge_file(tmp_path, 1)) as network,
        pytest.raises(InputError, match=message),
    ):
        build_plan(network, asked)


@pytest.mark.parametrize("backend", ["kahypar", "mtkahypar"])
@pytest.mark.parametrize("window", [1, 6])
def test_unequal_machines_get_their_share_of_every_layer(tmp_path, backend, window):
    path, weights = challenge_file(tmp_path, 4), (1.0, 1.0, 2.0, 4.0)
    with open_network(path) as network:
        asked = Asked(4, weights=weights, backend=backend, window=window)
        plan = build_plan(network, asked).plan
    loads = loads_of(path, plan)
    assert (loads <= 1.01 * 32768 / 8 * np.array(weights)).all()
    assert plan.traffic.words.sum() < 0.3 * plan.random_traffic.words.sum()
