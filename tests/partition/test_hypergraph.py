"""The model: the connectivity cut of a layer is its volume in words."""

import numpy as np
from hypothesis import given

from hpc.io.halo import layer_traffic
from partition.hypergraph import connectivity_cut, layer_hypergraph, part_loads
from tests.cuts import brute_words, cut_layers


@given(cut_layers())
def test_the_cut_is_the_volume(case):
    pattern, owners_in, owners_out, parts = case
    graph = layer_hypergraph(pattern, owners_in, parts)
    blocks = np.concatenate((owners_out, np.arange(parts, dtype=np.int32)))
    cut = connectivity_cut(graph, blocks)
    words, _, edges = layer_traffic(
        pattern.indptr.astype(np.int64), pattern.indices, owners_out, owners_in, parts
    )
    assert cut == words.sum() == brute_words(pattern, owners_in, owners_out, parts).sum()
    assert part_loads(graph, blocks, parts).tolist() == edges.tolist()


@given(cut_layers())
def test_without_owners_an_input_costs_its_parts_less_one(case):
    pattern, _, owners_out, parts = case
    graph = layer_hypergraph(pattern, None, parts)
    columns = pattern.toarray().T != 0
    expected = sum(max(len(set(owners_out[column])) - 1, 0) for column in columns)
    assert connectivity_cut(graph, owners_out) == expected
