"""Limits against the best assignment found by trying them all."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from partition.balance import (
    equal_shares,
    imbalance,
    least_load,
    part_limits,
    shortfall,
    spread,
)

weights_and_parts = st.tuples(
    st.lists(st.integers(0, 9), min_size=1, max_size=7), st.integers(1, 3)
)


def best_load(weights, parts):
    return min(
        max(np.bincount(blocks, weights=weights, minlength=parts))
        for blocks in product(range(parts), repeat=len(weights))
    )


def loads_of(weights, blocks, parts):
    return np.bincount(blocks, weights=weights, minlength=parts)


@given(weights_and_parts)
def test_no_assignment_is_more_even_than_the_bound(case):
    weights, parts = case
    assert least_load(np.array(weights), parts) <= best_load(weights, parts)


@given(st.integers(1, 9), st.integers(1, 8), st.integers(1, 3))
def test_the_bound_is_exact_for_equal_rows(weight, rows, parts):
    assert least_load(np.full(rows, weight), parts) == best_load([weight] * rows, parts)


@given(weights_and_parts)
def test_spreading_is_within_four_thirds_of_the_best(case):
    weights, parts = case
    blocks = spread(np.array(weights), equal_shares(parts))
    assert loads_of(weights, blocks, parts).max() <= best_load(weights, parts) * 4 / 3


def test_spreading_deals_out_weightless_rows_too():
    assert np.bincount(spread(np.zeros(7, np.int64), equal_shares(3))).tolist() == [3, 2, 2]


@pytest.mark.parametrize(
    ("weights", "parts", "epsilon", "limit"),
    [
        ([32] * 1024, 8, 0.01, 4136),  # 1.01 of 4096
        ([32] * 1024, 512, 0.01, 64),  # two rows; 1.01 of that is no whole row more
        ([32] * 1024, 60, 0.01, 18 * 32),  # 17.07 rows a part: 18 is the least
        ([100, 1, 1, 1], 2, 0.01, 100),  # one row too heavy
        ([1] * 100, 4, 0.04, 26),  # exactly (1 + ε) · mean, in spite of rounding
        ([2, 2, 2], 8, 0.0, 2),  # more parts than rows
    ],
)
def test_the_limit_is_what_was_asked_where_the_rows_allow_it(weights, parts, epsilon, limit):
    limits = part_limits(np.array(weights), equal_shares(parts), epsilon)
    assert limits.tolist() == [limit] * parts


def test_a_missed_balance_is_explained():
    heavy = shortfall(np.array([1, 100, 1]), np.array([0, 1, 0], np.int32), equal_shares(2), 0.01)
    assert "row 1 alone has 100 weights, a part may hold 51" in heavy
    grain = shortfall(np.full(5, 2), np.array([0, 0, 0, 1, 1], np.int32), equal_shares(2), 0.01)
    assert "do not divide more evenly over 2 parts" in grain and "0.2000" in grain
    missed = shortfall(
        np.ones(4, np.int64), np.array([0, 0, 0, 1], np.int32), equal_shares(2), 0.01
    )
    assert "no more even cut was found" in missed
    assert (
        shortfall(np.ones(4, np.int64), np.array([0, 0, 1, 1], np.int32), equal_shares(2), 0.0)
        is None
    )


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.sampled_from([0.0, 0.1, 1.0]),
)
def test_unequal_limits_follow_the_shares_and_can_be_met(weights, machines, epsilon):
    shares = np.array(machines) / sum(machines)
    limits = part_limits(np.array(weights), shares, epsilon)
    asked = [int((1 + epsilon) * sum(weights) * m / sum(machines) + 1e-9) for m in machines]
    assert (limits >= asked).all()
    feasible = (loads_of(weights, spread(np.array(weights), shares), len(machines)) <= limits).all()
    assert feasible or len(set(machines)) == 1  # equal machines have the sharper bound


def test_a_machine_twice_as_fast_gets_twice_the_rows():
    shares = np.array([0.25, 0.25, 0.5])
    assert loads_of([1] * 8, spread(np.ones(8, np.int64), shares), 3).tolist() == [2, 2, 4]
    loads = np.array([[2, 2, 4], [3, 2, 3], [0, 0, 0]])
    assert imbalance(loads, shares).tolist() == pytest.approx([0, 0.5, 0])
    assert shortfall(np.ones(8, np.int64), np.array([0, 0, 1, 1, 2, 2, 2, 2]), shares, 0.0) is None
    missed = shortfall(np.ones(8, np.int64), np.array([0, 0, 0, 1, 1, 2, 2, 2]), shares, 0.0)
    assert "0.5000" in missed


def test_heavy_rows_go_to_the_strong():
    shares = np.arange(1, 9) / 36
    weights = np.array([1000, 1000, 1005, 7, 7])
    loads = loads_of(weights, spread(weights, shares), 8)
    assert loads[5:].min() >= 1000 and imbalance(loads, shares) < 1


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 50), min_size=1, max_size=6),
    st.lists(st.integers(1, 9), min_size=2, max_size=3),
)
def test_spreading_over_unequal_machines_is_within_twice_the_best(weights, machines):
    shares = np.array(machines) / sum(machines)
    rows, parts = np.array(weights), len(machines)

    def heaviest(blocks):
        return (loads_of(rows, np.array(blocks), parts) / shares).max()

    best = min(map(heaviest, product(range(parts), repeat=len(rows))))
    assert heaviest(spread(rows, shares)) <= 2 * best + 1e-9
