"""The best new names of parts, found by trying all."""

from itertools import permutations

import numpy as np
from hypothesis import given

from partition.balance import equal_shares
from partition.rejoin import renaming
from tests.cuts import brute_words, cut_layers


@given(cut_layers(max_rows=8, max_parts=4))
def test_no_other_naming_costs_fewer_words(case):
    pattern, below, above, parts = case
    name = renaming(pattern, above, below, equal_shares(parts))
    assert sorted(name.tolist()) == list(range(parts))
    every = [
        brute_words(pattern, below, np.array(names)[above], parts).sum()
        for names in permutations(range(parts))
    ]
    assert brute_words(pattern, below, name[above], parts).sum() == min(every)


@given(cut_layers(max_rows=8, max_parts=4))
def test_only_parts_of_the_same_share_change_names(case):
    pattern, below, above, parts = case
    shares = np.arange(1, parts + 1) / sum(range(1, parts + 1))
    assert renaming(pattern, above, below, shares).tolist() == list(range(parts))
