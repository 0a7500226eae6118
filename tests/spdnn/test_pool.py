"""Pools give back the columns that went in, whatever panels they share with other levels."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from hpc.spdnn.pool import PanelStore, Pool


@given(
    st.lists(st.tuples(st.integers(0, 2), st.integers(1, 150), st.booleans()), max_size=12),
    st.integers(0, 2**32 - 1),
)
def test_what_goes_in_comes_out(turns, seed):
    """Pools of three levels of 1, 5 and 7 rows are filled and emptied in any order."""
    rng = np.random.default_rng(seed)
    store, rows = PanelStore(7, np.dtype(np.float32)), (1, 5, 7)
    pools = [Pool(store, n) for n in rows]
    inside = [np.empty((n, 0), np.float32) for n in rows]
    names: list[list[tuple[int, int]]] = [[], [], []]
    number = 0
    for level, count, out in turns:
        new = rng.random((rows[level], count)).astype(np.float32)
        kept = np.arange(count, dtype=np.int32)

        def gather(some, target, start, new=new):
            target[0, :, start : start + len(some)] = new[:, some]

        samples = np.arange(number, number + 2 * count, dtype=np.int32)
        columns = rng.integers(0, count, 2 * count).astype(np.int32)
        before = inside[level].shape[1]
        names[level] += zip(samples.tolist(), (before + columns).tolist(), strict=True)
        inside[level] = np.hstack([inside[level], new])
        pools[level].add(samples, columns, kept, gather)
        number += 2 * count
        assert pools[level].count == inside[level].shape[1]
        if out:
            check(pools[level], inside[level], names[level])
            inside[level], names[level] = np.empty((rows[level], 0), np.float32), []
    for level in range(3):
        if inside[level].shape[1]:
            check(pools[level], inside[level], names[level])


def check(pool, inside, names):
    rows, count = inside.shape
    panels = -(-count // 64)
    width = 64 if panels > 1 else count
    target = np.full((panels, rows + 1, width), -1, np.float32)
    pool.copy_to(target)
    flat = target.transpose(1, 0, 2).reshape(rows + 1, -1)
    np.testing.assert_array_equal(flat[:rows, :count], inside)
    assert not flat[:rows, count:].any()
    assert (flat[rows] == -1).all()
    samples, columns = pool.empty()
    assert sorted(zip(samples.tolist(), columns.tolist(), strict=True)) == sorted(names)
    assert pool.count == 0
