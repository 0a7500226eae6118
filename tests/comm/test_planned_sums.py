"""Planned sums: begun in one order, done in that order, the same on all ranks."""

import numpy as np
import pytest

from hpc.comm.planned_sums import PlannedSums

SIZES = (3, 0, 40_001, 700)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sums_run_again_and_again(comm, dtype):
    arrays = [np.empty(size, dtype) for size in SIZES]
    sums = PlannedSums(comm, arrays)
    for step in range(4):
        found = []
        for index in reversed(range(len(arrays))):
            arrays[index][:] = np.arange(SIZES[index]) % 11 + comm.rank + step
            sums.start(index)
            found += sums.done()
        found += sums.rest()
        assert found == [3, 2, 1, 0]
        for array in arrays:
            expected = comm.size * (np.arange(len(array)) % 11 + step) + sum(range(comm.size))
            np.testing.assert_array_equal(array, expected)
    sums.free()


@pytest.mark.mpi
def test_all_ranks_have_the_same_bits(comm):
    array = np.random.default_rng(comm.rank).normal(size=5000).astype(np.float32)
    sums = PlannedSums(comm, [array])
    sums.start(0)
    assert list(sums.rest()) == [0]
    np.testing.assert_array_equal(array, comm.bcast(array))
    sums.free()


def test_without_others_a_sum_is_done_at_once():
    array = np.ones(3)
    sums = PlannedSums(None, [array])
    sums.start(0)
    assert list(sums.done()) == [0] and list(sums.rest()) == []
    assert array.tolist() == [1, 1, 1]
