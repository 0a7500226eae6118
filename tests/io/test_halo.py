"""The geometry of a cut against sets counted by hand, for every rank in one process."""

import numpy as np
from hypothesis import given

from hpc.io.halo import Traffic, cut_layer, layer_pairs, layer_traffic, owned_ids
from tests.cuts import brute_words, cut_layers, needed


def csr_of(weight):
    return weight.indptr.astype(np.int64), weight.indices.astype(np.int32)


@given(cut_layers())
def test_traffic_counts_what_rows_need_of_other_ranks(case):
    pattern, owners_in, owners_out, parts = case
    words, messages, edges = layer_traffic(*csr_of(pattern), owners_out, owners_in, parts)
    expected = brute_words(pattern, owners_in, owners_out, parts)
    assert words.tolist() == expected.sum(axis=1).tolist()
    assert messages.tolist() == (expected > 0).sum(axis=1).tolist()
    assert edges.tolist() == [pattern[owners_out == rank].nnz for rank in range(parts)]


@given(cut_layers())
def test_pairs_are_every_word_once_in_the_order_on_the_wire(case):
    pattern, owners_in, owners_out, parts = case
    sender, receiver, column = layer_pairs(*csr_of(pattern), owners_out, owners_in, parts)
    expected = [
        (m, n, j)
        for n in range(parts)
        for m in range(parts)
        if m != n
        for j in needed(pattern, owners_in, owners_out, n, m)
    ]
    assert list(zip(sender.tolist(), receiver.tolist(), column.tolist(), strict=True)) == expected


@given(cut_layers())
def test_parts_of_a_rank_are_its_rows_again(case):
    pattern, owners_in, owners_out, parts = case
    for rank in range(parts):
        mine = pattern[owners_out == rank]
        cut = cut_layer(*csr_of(mine), mine.data, owners_in, rank)
        columns = np.concatenate([owned_ids(owners_in, rank), *cut.needs])
        again = np.zeros(mine.shape)
        for part in (cut.core, *cut.parts):
            rows = np.repeat(part.rows, np.diff(part.indptr))
            assert (again[rows, columns[part.indices]] == 0).all()
            again[rows, columns[part.indices]] = part.data
        np.testing.assert_array_equal(again, mine.toarray())


@given(cut_layers())
def test_a_part_has_one_source_and_no_empty_row(case):
    pattern, owners_in, owners_out, parts = case
    for rank in range(parts):
        mine = pattern[owners_out == rank]
        cut = cut_layer(*csr_of(mine), mine.data, owners_in, rank)
        sources = [part.source for part in cut.parts]
        assert sources == sorted(set(sources) - {rank})
        assert len(cut.core.rows) == mine.shape[0]
        for part, ids in zip(cut.parts, cut.needs, strict=True):
            assert ids.tolist() == needed(pattern, owners_in, owners_out, rank, part.source)
            assert np.diff(part.indptr).min() >= 1


def test_imbalance_is_the_largest_load_over_the_mean():
    edges = np.array([[10, 10], [30, 10], [0, 0]])
    traffic = Traffic(edges, edges, edges)
    np.testing.assert_allclose(traffic.imbalance, [0.0, 0.5, 0.0])
