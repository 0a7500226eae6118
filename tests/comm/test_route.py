"""Rows routed to their owners arrive whole and in order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hpc.comm.route import item_order, route, route_rows


@pytest.mark.mpi
def test_items_go_where_they_should(comm):
    counts = np.arange(comm.size) + comm.rank
    array = np.concatenate([np.full(n, 100 * comm.rank + dest) for dest, n in enumerate(counts)])
    found, incoming = route(comm, array, counts)
    assert incoming.tolist() == [comm.rank + source for source in range(comm.size)]
    assert found.tolist() == [
        100 * source + comm.rank for source in range(comm.size) for _ in range(comm.rank + source)
    ]


@pytest.mark.mpi
@pytest.mark.parametrize("seed", range(5))
def test_rows_arrive_whole(comm, seed):
    """All rows of all ranks are known to all; each must be where its number says."""
    everyone = []
    for rank in range(comm.size):
        rng = np.random.default_rng([seed, rank])
        n = int(rng.integers(0, 8))
        lengths, dest = rng.integers(0, 5, n), rng.integers(0, comm.size, n)
        items = [rng.normal(size=length) for length in lengths]
        everyone.append((lengths, dest, items, 1000 * rank + np.arange(n)))
    lengths, dest, items, numbers = everyone[comm.rank]
    flat = np.concatenate([np.empty(0), *items])
    came, (values,), (names,) = route_rows(comm, lengths, dest, [flat], [numbers])
    expected = [
        (name, row)
        for _, dests, rows, labels in everyone
        for to, row, name in zip(dests, rows, labels, strict=True)
        if to == comm.rank
    ]
    assert names.tolist() == [name for name, _ in expected]
    assert came.tolist() == [len(row) for _, row in expected]
    np.testing.assert_array_equal(values, np.concatenate([np.empty(0), *(r for _, r in expected)]))


@given(st.lists(st.integers(0, 6), max_size=12), st.randoms(use_true_random=False))
def test_item_order_is_the_rows_taken_one_after_another(lengths, random):
    order = list(range(len(lengths)))
    random.shuffle(order)
    starts = np.concatenate(([0], np.cumsum(lengths))).astype(int)
    expected = [i for row in order for i in range(starts[row], starts[row] + lengths[row])]
    found = item_order(np.array(lengths, np.int64), np.array(order, np.int64))
    assert found.tolist() == expected
