"""Owners of the inputs: no word more than the rows need, words and neurons spread evenly."""

import numpy as np
from hypothesis import given
from scipy import sparse

from partition.hypergraph import connectivity_cut, layer_hypergraph
from partition.inputs import fill_up, input_owners
from tests.cuts import brute_words, cut_layers


@given(cut_layers())
def test_an_input_lies_where_it_is_needed_and_costs_no_word_more(case):
    pattern, _, owners_out, parts = case
    owners_in = input_owners(pattern, owners_out, parts)
    for column, owner in enumerate(owners_in):
        needing = set(owners_out[pattern.toarray()[:, column] != 0].tolist())
        assert owner in needing or not needing
    least = connectivity_cut(layer_hypergraph(pattern, None, parts), owners_out)
    assert brute_words(pattern, owners_in, owners_out, parts).sum() == least


def test_ties_go_to_the_part_that_sends_least():
    """Every input is needed by all four parts: each sends as much as the others."""
    pattern = sparse.csr_array(np.ones((4, 20)))
    owners_in = input_owners(pattern, np.arange(4, dtype=np.int32), 4)
    assert np.bincount(owners_in).tolist() == [5, 5, 5, 5]


def test_words_count_before_neurons():
    """Input 0 costs its owner two words, the others one: parts 0 and 1 then send two each."""
    pattern = sparse.csr_array(np.array([[1, 1, 1], [1, 1, 1], [1, 0, 0]]))
    owners_in = input_owners(pattern, np.array([0, 1, 2], np.int32), 3)
    assert owners_in.tolist() == [0, 1, 1]


def test_inputs_that_no_row_needs_even_out_what_parts_hold():
    pattern = sparse.csr_array(np.array([[1, 1, 1, 0, 0, 0], [0, 0, 0, 0, 0, 0]]))
    owners_in = input_owners(pattern, np.array([0, 1], np.int32), 2)
    assert owners_in.tolist() == [0, 0, 0, 1, 1, 1]


def test_what_has_an_owner_keeps_it():
    assert fill_up(np.array([-1, 2, -1, 2], np.int32), 3).tolist() == [0, 2, 1, 2]
