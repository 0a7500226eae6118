"""Objectives against sums by hand; plans that have less of what was asked; local search."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from datasets.random_network import random_layers
from hpc.io.errors import FormatError, InputError
from hpc.io.machine import Costs, Machine, Rates, write_machine
from hpc.io.network import open_network
from hpc.io.plan import read_plan
from partition import cli
from partition.asked import Asked
from partition.build import build_plan, steps
from partition.layer_state import ColumnSide, RowSide
from partition.load import Load, layer_load
from partition.objective import WORDS_PER_MESSAGE, Messages, Time, Volume
from partition.patterns import Patterns
from partition.predict import predict
from partition.refine import refined
from tests.launching import run_alone
from tests.partition.networks import challenge_file, network_file
from tests.spdnn.serial import random_layers as ragged_layers

RATES = Rates(5e-6, 5e-10, 1e-9, 3e-6, 2e-9)
COSTS = Costs((1,), (1,), (RATES,))
OBJECTIVES = (Volume(), Messages(), Time(COSTS, 16))


def brute_load(weight, above, below, parts):
    """Return the load of a layer by loops over its weights."""
    words = {(below[j], above[i], j) for i, j in zip(*weight.nonzero(), strict=True)}
    links = np.zeros((parts, parts), np.int64)
    for sender, receiver, _ in words:
        links[sender, receiver] += sender != receiver
    edges = np.bincount(above, np.diff(weight.indptr), parts).astype(np.int64)
    return Load(links, edges, np.bincount(above, minlength=parts))


def same(mine, theirs):
    for field in dataclasses.fields(Load):
        np.testing.assert_array_equal(getattr(mine, field.name), getattr(theirs, field.name))


def ones_of(sizes, density):
    """Return the pattern of a layer."""
    weight = ragged_layers(sizes, density, 1)[0].weight
    weight.data[:] = 1
    return weight


def draw_levels(data, sizes, parts):
    seed = data.draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    return [rng.integers(parts, size=n).astype(np.int32) for n in sizes]


def test_costs_by_hand():
    load = Load(np.array([[0, 3], [0, 0]]), np.array([10, 20]), np.array([1, 2]))
    assert Volume().cost(load) == 3
    assert Volume(np.array([[0.0, 5.0], [1.0, 0.0]])).cost(load) == 15
    assert Messages().cost(load) == WORDS_PER_MESSAGE + 3
    costs = Costs((1,), (1,), (Rates(1.0, 0.01, 0.001, 10.0, 0.5),))
    sender = 1 + 0.01 * 10 * 4 + 0.001 * 1 * 4 + 10 + 0.5 * 3 * 4
    assert Time(costs, 4).cost(load) == pytest.approx(sender)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 9), min_size=2, max_size=2), st.floats(0, 1), st.data())
def test_loads_stay_right_while_neurons_move(sizes, density, data):
    parts = data.draw(st.integers(2, 4))
    weight = ones_of(sizes, density)
    below, above = draw_levels(data, sizes, parts)
    rows, columns = (side(weight, above, below, parts) for side in (RowSide, ColumnSide))
    same(rows.load(), brute_load(weight, above, below, parts))
    for _ in range(4):
        row = data.draw(st.integers(0, sizes[1] - 1))
        part = data.draw(st.integers(0, parts - 1))
        if part != above[row]:
            rows.move(row, int(above[row]), part)
            above[row] = part
        same(rows.load(), brute_load(weight, above, below, parts))
    columns = ColumnSide(weight, above, below, parts)
    for column in range(sizes[0]):
        part = int(below[column] + 1) % parts
        columns.move(column, int(below[column]), part)
        below[column] = part
        same(columns.load(), brute_load(weight, above, below, parts))


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 8), min_size=2, max_size=2), st.floats(0.1, 1), st.data())
def test_announced_changes_of_words_are_exact(sizes, density, data):
    parts, objective = 3, Volume()
    weight = ones_of(sizes, density)
    below, above = draw_levels(data, sizes, parts)
    for side, owners in ((RowSide, above), (ColumnSide, below)):
        state = side(weight, above, below, parts)
        weights = np.zeros(len(owners), np.int64)
        marginals = objective.marginals(state.load(), 1.0)
        found = state.changes(owners, weights, marginals)
        now = objective.cost(state.load())
        for neuron, part in itertools.product(range(len(owners)), range(parts)):
            if part != owners[neuron]:
                moved = owners.copy()
                moved[neuron] = part
                levels = (moved, below) if owners is above else (above, moved)
                cost = objective.cost(brute_load(weight, *levels, parts))
                assert found[neuron, part] == pytest.approx(cost - now)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("parts", [2, 5])
def test_local_search_lowers_the_cost_and_keeps_the_balance(tmp_path, objective, parts):
    sizes = (60, 50, 55, 40)
    path = network_file(tmp_path, list(random_layers(sizes, 3, "powerlaw", 1)))
    rng = np.random.default_rng(0)
    levels = [rng.permutation(np.arange(n, dtype=np.int32) % parts) for n in sizes]
    with open_network(path) as network:
        patterns = Patterns(network, 4)
        out = refined(objective, patterns, levels, lambda w: np.zeros(parts), parts, lambda: None)
        costs = [
            sum(
                objective.cost(brute_load(patterns[k], some[k + 1], some[k], parts))
                for k in range(3)
            )
            for some in (levels, out)
        ]
        assert costs[1] < costs[0]
        for k in range(3):  # without any room, loads grow nowhere
            before, after = (
                layer_load(patterns[k], some[k + 1], some[k], parts).edges for some in (levels, out)
            )
            assert (after <= before).all()


def plans(path, parts, window=6, batch=16):
    """Return a plan for each objective."""
    asked = Asked(parts, window=window)
    time = dataclasses.replace(asked, objective="time", costs=COSTS, batch=batch)
    with open_network(path) as network:
        return [
            build_plan(network, one).plan
            for one in (asked, dataclasses.replace(asked, objective="messages"), time)
        ]


@pytest.mark.parametrize("kind", ["challenge", "er", "powerlaw"])
def test_less_of_what_was_asked(tmp_path, kind):
    pytest.importorskip("kahypar")
    if kind == "challenge":
        path, parts = challenge_file(tmp_path, 4), 16
    else:
        path, parts = network_file(tmp_path, list(random_layers((128,) * 4, 4, kind, 1))), 8
    volume, messages, time = plans(path, parts)
    assert messages.traffic.messages.sum() < volume.traffic.messages.sum()
    assert predict(time, COSTS, 16).total_s <= predict(volume, COSTS, 16).total_s
    for plan in (messages, time):
        assert (plan.traffic.imbalance <= np.maximum(volume.traffic.imbalance, 0.01) + 1e-9).all()


def test_large_batches_weigh_words(tmp_path):
    pytest.importorskip("kahypar")
    path = network_file(tmp_path, list(random_layers((128,) * 4, 4, "er", 1)))
    one, many = (plans(path, 8, 1, batch)[2].traffic for batch in (1, 4096))
    assert one.messages.sum() < many.messages.sum()
    assert one.words.sum() > many.words.sum()


def test_the_same_seed_gives_the_same_plan_and_the_steps_announced(tmp_path):
    pytest.importorskip("kahypar")
    path = challenge_file(tmp_path, 3)
    for window in (1, 6):
        asked, found = Asked(4, window=window, objective="messages"), []
        for _ in range(2):
            taken = []
            with open_network(path) as network:
                built = build_plan(network, asked, lambda taken=taken: taken.append(1))
            assert len(taken) == steps(3, asked)
            found.append([level.tolist() for level in built.plan.owners])
        assert found[0] == found[1]


def machine_file(folder):
    path = folder / "m.json"
    training = Costs((1,), (1,), (Rates(*(3 * rate for rate in RATES.array())),))
    write_machine(path, Machine(COSTS, training, {"kernel": "test"}))
    return str(path)


def test_the_command_keeps_what_was_asked(tmp_path):
    pytest.importorskip("kahypar")
    network, out = challenge_file(tmp_path, 2), tmp_path / "p.h5"
    options = ["--objective", "time", "--machine", machine_file(tmp_path), "--batch", "4"]
    cli.main(["build", str(network), "--parts", "4", *options, "--training", "--out", str(out)])
    asked = read_plan(out).asked
    assert (asked["objective"], asked["batch"]) == ("time", 4)
    assert asked["costs"]["rates"][0]["message_s"] == pytest.approx(9e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--objective", "speed"], "--objective speed: expected one of volume, messages, time"),
        (["--objective", "time"], "--objective time needs --machine"),
        (["--objective", "time", "--machine", "MACHINE", "--batch", "0"], "--batch 0: expected 1"),
        (["--machine", "MACHINE"], "--machine goes with --objective time"),
        (["--objective", "messages", "--batch", "4"], "--batch goes with --objective time"),
        (["--training"], "--training goes with --objective time"),
        (["--objective", "messages", "--method", "block"], "--method block has no objective"),
    ],
)
def test_bad_options(tmp_path, options, message):
    network, machine = challenge_file(tmp_path, 1), machine_file(tmp_path)
    options = [machine if word == "MACHINE" else word for word in options]
    out = str(tmp_path / "p.h5")
    with pytest.raises(InputError, match=message):
        cli.main(["build", str(network), "--parts", "2", *options, "--out", out])


def test_a_missing_machine_file_is_one_line_and_exit_code_2(tmp_path):
    network, out = challenge_file(tmp_path, 1), tmp_path / "p.h5"
    options = ("--objective", "time", "--machine", tmp_path / "none.json")
    done = run_alone("-m", "partition", "build", network, "--parts", "2", *options, "--out", out)
    assert done.returncode == 2 and done.stderr.count("\n") == 1
    assert "none.json: cannot be read (No such file" in done.stderr
    with pytest.raises(FormatError):
        cli.main(["build", str(network), "--parts", "2", *map(str, options), "--out", str(out)])
