"""The reduction loses nothing: every cut of the small hypergraph is one of the full."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets.challenge_network import challenge_layers
from hpc.io.halo import layer_traffic
from hpc.io.ownership import block_owners
from partition.balance import equal_shares, least_load, part_limits
from partition.hypergraph import FREE, connectivity_cut, layer_hypergraph, part_loads
from partition.reduce import equal_groups, reduce_hypergraph
from tests.cuts import cut_layers


def reduced_layer(pattern, owners_in, parts, epsilon=0.0):
    weights = np.diff(pattern.indptr).astype(np.int64)
    limits = part_limits(weights, equal_shares(parts), epsilon)
    full = layer_hypergraph(pattern, owners_in, parts)
    return full, reduce_hypergraph(full, limits), int(limits[0])


@given(cut_layers(), st.integers(0, 2**32 - 1), st.booleans())
def test_cut_and_loads_of_the_reduced_are_those_of_the_full_and_of_the_wire(case, seed, first):
    pattern, owners_in, _, parts = case
    full, reduced, _ = reduced_layer(pattern, None if first else owners_in, parts)
    small = reduced.hypergraph
    blocks = np.random.default_rng(seed).integers(0, parts, small.n_vertices).astype(np.int32)
    blocks = np.where(small.fixed == FREE, blocks, small.fixed)
    whole = reduced.expand(blocks)
    assert connectivity_cut(small, blocks) == connectivity_cut(full, whole)
    assert part_loads(small, blocks, parts).tolist() == part_loads(full, whole, parts).tolist()
    if not first:
        assert whole[pattern.shape[0] :].tolist() == list(range(parts))
        owners = whole[: pattern.shape[0]]
        words, _, _ = layer_traffic(
            pattern.indptr.astype(np.int64), pattern.indices, owners, owners_in, parts
        )
        assert connectivity_cut(small, blocks) == words.sum()


@given(cut_layers())
def test_merged_vertices_leave_balance_possible(case):
    pattern, owners_in, _, parts = case
    _, reduced, limit = reduced_layer(pattern, owners_in, parts)
    weights = reduced.hypergraph.vertex_weight
    assert weights.max(initial=0) <= limit and least_load(weights, parts) <= limit


@given(cut_layers())
def test_no_two_nets_are_equal_and_none_has_one_pin(case):
    pattern, owners_in, _, parts = case
    _, reduced, _ = reduced_layer(pattern, owners_in, parts)
    graph = reduced.hypergraph
    nets = [tuple(sorted(net)) for net in np.split(graph.pins, graph.net_start[1:-1])]
    nets = nets if graph.n_nets else []
    assert len(set(nets)) == len(nets) and all(len(set(net)) == len(net) > 1 for net in nets)


@given(st.lists(st.tuples(st.sets(st.integers(0, 3)), st.integers(0, 1)), max_size=8))
def test_equal_groups_are_those_a_dictionary_finds(rows):
    items = np.array([i for row, _ in rows for i in sorted(row)], np.int64)
    start = np.concatenate(([0], np.cumsum([len(row) for row, _ in rows]))).astype(np.int64)
    group, first = equal_groups(start, items, np.array([label for _, label in rows], np.int64))
    seen = {}
    expected = [seen.setdefault((frozenset(row), label), len(seen)) for row, label in rows]
    assert group.tolist() == expected
    assert first.tolist() == [expected.index(number) for number in range(len(seen))]


@pytest.mark.parametrize(
    ("parts", "vertices"),
    [(8, 64), (32, 64), (3, 128), (512, 512)],
)
def test_equal_rows_of_the_challenge_become_as_many_vertices_as_balance_needs(parts, vertices):
    """64 classes of 16 equal rows; two rows a part at P = 512, so eight vertices a class."""
    pattern = next(iter(challenge_layers(1024, 1, np.float32))).weight
    _, reduced, _ = reduced_layer(pattern, block_owners(1024, parts), parts, 0.01)
    assert reduced.hypergraph.n_vertices == vertices + parts
    assert reduced.hypergraph.n_nets <= 64 * parts
