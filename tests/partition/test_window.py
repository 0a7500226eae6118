"""The hypergraph of a window counts exactly the words of its layers."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from datasets.challenge_network import challenge_layers
from partition.hypergraph import FREE, connectivity_cut, part_loads
from partition.window import NONE, slots_of, window_hypergraph
from tests.cuts import brute_words


@st.composite
def windows(draw):
    """Draw (patterns, partners, owners_in, parts): ragged layers, some rows without a partner."""
    sizes = draw(st.lists(st.integers(1, 8), min_size=3, max_size=5))
    parts = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    patterns, partners = [], []
    for n_in, n_out in itertools.pairwise(sizes):
        dense = rng.random((n_out, n_in)) < rng.random()
        if draw(st.booleans()):
            dense = dense[rng.integers(0, n_out, n_out)]
        patterns.append(sparse.csr_array(dense.astype(np.int8)))
        partner = np.full(n_out, NONE)
        some = rng.permutation(min(n_in, n_out))[: rng.integers(0, min(n_in, n_out) + 1)]
        partner[some] = rng.permutation(n_in)[: len(some)]
        partners.append(partner)
    owners_in = rng.integers(0, parts, sizes[0]).astype(np.int32)
    return patterns, partners[1:], owners_in, parts


@given(windows(), st.integers(0, 2**32 - 1))
def test_the_cut_of_a_window_is_the_words_of_its_layers(case, seed):
    patterns, partners, below, parts = case
    slots = slots_of(patterns[0].shape[0], partners)
    window = window_hypergraph(patterns, slots, below, np.full(parts, 10**6))
    graph = window.hypergraph
    drawn = np.random.default_rng(seed).integers(0, parts, graph.n_vertices).astype(np.int32)
    blocks = np.where(graph.fixed == FREE, drawn, graph.fixed)
    words, loads = 0, np.zeros(parts)
    for pattern, owners in zip(patterns, window.expand(blocks), strict=True):
        words += brute_words(pattern, below, owners, parts).sum()
        loads += np.bincount(owners, np.diff(pattern.indptr), parts)
        below = owners
    assert connectivity_cut(graph, blocks) == words
    weightless = (part_loads(graph, blocks, parts) - loads).sum()
    assert 0 <= weightless <= sum(pattern.shape[0] for pattern in patterns)


@given(windows())
def test_partners_share_a_slot_and_others_do_not(case):
    patterns, partners, _, _ = case
    slots = slots_of(patterns[0].shape[0], partners)
    for level, (slot, partner) in enumerate(zip(slots[1:], partners, strict=True)):
        assert len(set(slot.tolist())) == len(slot)
        for row, one in enumerate(partner):
            if one == NONE:
                assert all(slot[row] not in other for other in slots[: level + 1])
            else:
                assert slot[row] == slots[level][one]


def test_without_owners_inputs_cost_their_parts_less_one():
    pattern = sparse.csr_array(np.array([[1, 1, 0], [0, 1, 1]], np.int8))
    window = window_hypergraph([pattern], slots_of(2, []), None, np.full(2, 10))
    assert window.hypergraph.n_vertices == 2
    assert connectivity_cut(window.hypergraph, np.array([0, 1], np.int32)) == 1


def test_equal_rows_of_the_challenge_stay_together():
    """64 classes of 16 equal rows, the same in every base layer."""
    patterns = [layer.weight for layer in challenge_layers(1024, 3, np.float32)]
    slots = slots_of(1024, [np.arange(1024)] * 2)
    window = window_hypergraph(patterns, slots, None, np.full(8, 3 * 4136))
    assert window.hypergraph.n_vertices == 64
