"""Figures and table against numbers added up by hand."""

import io

import numpy as np
import pytest
from rich.console import Console

from hpc.io.errors import InputError
from hpc.io.halo import Traffic
from hpc.io.plan import Plan, block_plan
from partition.stats import costs_of, figures, print_table


def costs(n_layers=2):
    """Return two ranks' traffic: rank 0 sends 5 words a layer, rank 1 k words in layer k."""
    layer = np.arange(1, n_layers + 1)
    words = np.stack((np.full(n_layers, 5), layer), axis=1)
    messages = np.stack((np.full(n_layers, 1), np.full(n_layers, 1)), axis=1)
    edges = np.stack((np.full(n_layers, 10), 10 + layer), axis=1)
    owners = tuple(np.zeros(3, np.int32) for _ in range(n_layers + 1))
    asked = {"method": "hypergraph", "epsilon": 0.06, "seed": 7}
    random = Traffic(words * 4, messages * 2, edges)
    return costs_of(Plan(2, owners, "", asked, Traffic(words, messages, edges), random), "p")


def printed(*args, **options):
    text = io.StringIO()
    print_table(*args, Console(file=text), **options)
    return text.getvalue()


def test_figures_are_totals_over_layers():
    assert figures(costs()) == {
        "parts": 2,
        "layers": 2,
        "method": "hypergraph",
        "epsilon": 0.06,
        "seed": 7,
        "volume_words": 13,
        "random_volume_words": 52,
        "messages": 4,
        "random_messages": 8,
        "max_send_words": 10,
        "imbalance": pytest.approx(12 / 11 - 1),
    }


def test_the_table_has_averages_maxima_and_the_ratio_to_random():
    lines = [line.split() for line in printed(costs()).splitlines()]
    assert ["2", "3.5", "5", "14.0", "0.250", "1.0", "1", "2.0", "0.0909"] in lines
    assert ["total", "6.5", "10", "26.0", "0.250", "2.0", "2", "4.0", "0.0909"] in lines


def test_layers_above_epsilon_are_counted():
    assert "imbalance above 0.06 in 1 of 2 layers, the first is layer 2" in printed(costs())


def test_a_long_network_is_elided_unless_asked_for():
    short, whole = printed(costs(30)), printed(costs(30), all_layers=True)
    assert "22 more" in short and "22 more" not in whole
    numbers = [line.split()[0] for line in short.splitlines() if line.strip()]
    assert [n for n in numbers if n.isdigit() and n != "22"] == [
        "1",
        "2",
        "3",
        "4",
        "27",
        "28",
        "29",
        "30",
    ]
    assert sum(line.split()[:1] == ["15"] for line in whole.splitlines()) == 1


def test_no_volume_at_all_has_no_ratio():
    zero = np.zeros((1, 1), np.int64)
    traffic = Traffic(zero, zero, zero + 9)
    plan = Plan(1, block_plan((3, 3), 1).owners, "", {"method": "block"}, traffic, traffic)
    lines = [line.split() for line in printed(costs_of(plan, "p")).splitlines()]
    assert ["1", "0.0", "0", "0.0", "-", "0.0", "0", "0.0", "0.0000"] in lines


def test_a_plan_without_traffic_is_refused():
    with pytest.raises(InputError, match=r"plan\.h5: holds no traffic"):
        costs_of(block_plan((3, 3), 2), "plan.h5")


def test_imbalance_is_against_the_share_of_the_machine():
    before = costs()
    asked = before.plan.asked | {"weights": [1.0, 3.0]}
    plan = Plan(2, before.plan.owners, "", asked, before.traffic, before.random)
    assert figures(costs_of(plan, "p"))["imbalance"] == pytest.approx(10 * 4 / 21 - 1)
