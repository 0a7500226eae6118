"""Uneven cuts are mended, at the price that the connectivity cut itself says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from partition.hypergraph import FREE, Hypergraph, connectivity_cut, layer_hypergraph, part_loads
from partition.repair import move_costs, repair
from tests.cuts import cut_layers


def bare(weights):
    """Return a hypergraph of free vertices and no nets."""
    n = len(weights)
    empty = np.empty(0, np.int32)
    start = np.zeros(1, np.int64)
    fixed = np.full(n, FREE, np.int32)
    return Hypergraph(start, empty, np.array(weights, np.int64), empty.astype(np.int64), fixed)


@given(cut_layers(), st.data())
def test_the_cost_of_a_move_is_the_difference_of_two_cuts(case, data):
    pattern, owners_in, owners_out, parts = case
    graph = layer_hypergraph(pattern, owners_in, parts)
    blocks = np.concatenate((owners_out, np.arange(parts, dtype=np.int32)))
    part = int(owners_out[data.draw(st.integers(0, len(owners_out) - 1))])
    rows = np.flatnonzero(owners_out == part)
    costs = move_costs(graph, blocks, rows, parts)
    before = connectivity_cut(graph, blocks)
    for i, row in enumerate(rows):
        for target in set(range(parts)) - {part}:
            moved = blocks.copy()
            moved[row] = target
            assert connectivity_cut(graph, moved) - before == costs[i, target]


@given(cut_layers(), st.integers(0, 3))
def test_rows_of_equal_weight_always_fit_and_fixed_ones_stay(case, spare):
    pattern, owners_in, owners_out, parts = case
    graph = layer_hypergraph(pattern, owners_in, parts)
    weight = np.where(graph.fixed == FREE, 1, 0)
    graph = Hypergraph(graph.net_start, graph.pins, weight, graph.net_weight, graph.fixed)
    blocks = np.concatenate((owners_out, np.arange(parts, dtype=np.int32)))
    limit = -(-len(owners_out) // parts) + spare
    mended = repair(graph, blocks, np.full(parts, limit))
    assert part_loads(graph, mended, parts).max() <= limit
    assert mended[graph.fixed != FREE].tolist() == list(range(parts))
    if part_loads(graph, blocks, parts).max() <= limit:
        assert mended.tolist() == blocks.tolist()


@pytest.mark.parametrize(
    ("weights", "limit", "expected"),
    [
        ([3, 3, 2, 2], 5, [1, 0, 0, 1]),  # no room for a whole row: exchange 3 and 2
        ([9, 6, 8, 4], 14, [0, 1, 1, 0]),  # 9 for 4 would be too much
    ],
)
def test_two_rows_change_places_where_none_can_move(weights, limit, expected):
    graph = bare(weights)
    mended = repair(graph, np.array([0, 0, 1, 1], np.int32), np.full(2, limit))
    assert mended.tolist() == expected
    assert part_loads(graph, mended, 2).max() <= limit


def test_the_cheapest_row_moves():
    """Rows 0, 1 share a net with part 0's vertex 4; row 2 shares one with part 1's vertex 3."""
    graph = Hypergraph(
        np.array([0, 3, 5]),
        np.array([0, 1, 4, 2, 3], np.int32),
        np.array([1, 1, 1, 1, 0]),
        np.array([1, 1]),
        np.array([FREE, FREE, FREE, FREE, 0], np.int32),
    )
    mended = repair(graph, np.array([0, 0, 0, 1, 0], np.int32), np.array([2, 2]))
    assert mended.tolist() == [0, 0, 1, 1, 0] and connectivity_cut(graph, mended) == 0


def test_what_cannot_be_even_becomes_as_even_as_found():
    graph = bare([9, 1, 1, 1])
    mended = repair(graph, np.zeros(4, np.int32), np.array([6, 6]))
    assert sorted(part_loads(graph, mended, 2).tolist()) == [3, 9]


def test_every_part_has_a_limit_of_its_own():
    mended = repair(bare([1] * 6), np.array([0, 0, 0, 0, 1, 1], np.int32), np.array([2, 4]))
    assert np.bincount(mended).tolist() == [2, 4]
