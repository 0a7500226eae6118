"""Which pairs of ranks are timed, and the times themselves under MPI."""

from __future__ import annotations

import pytest

from hpc.doctor.links import MOST_PAIRED, rounds, time_links


@pytest.mark.parametrize("size", range(1, 20))
def test_every_pair_or_the_ring(size):
    every = rounds(size)
    pairs = [pair for one in every for pair in one]
    assert len(set(pairs)) == len(pairs)
    assert all(0 <= low < high < size for low, high in pairs)
    for one in every:
        ranks = [rank for pair in one for rank in pair]
        assert len(set(ranks)) == len(ranks)
    if size <= MOST_PAIRED:
        assert len(pairs) == size * (size - 1) // 2
    else:
        assert set(pairs) == {(r, r + 1) for r in range(size - 1)} | {(0, size - 1)}
        assert len(every) == 3


@pytest.mark.mpi
def test_times_of_all_pairs(comm):
    links = time_links(comm)
    if comm.rank:
        assert links == []
        return
    assert [link.ranks for link in links] == [p for one in rounds(comm.size) for p in one]
    for link in links:
        assert 1e-8 < link.latency_s < 1
        assert 1e6 < link.bandwidth < 1e12
