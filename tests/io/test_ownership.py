"""Contiguous ownership, for every rank of every size."""

from hypothesis import given
from hypothesis import strategies as st

from hpc.io.ownership import block_owners, owned_range


@given(st.integers(0, 200), st.integers(1, 70))
def test_ranges_cover_everything_once_and_evenly(n, size):
    ranges = [owned_range(n, size, rank) for rank in range(size)]
    assert [i for start, stop in ranges for i in range(start, stop)] == list(range(n))
    lengths = [stop - start for start, stop in ranges]
    assert max(lengths) - min(lengths) <= 1


@given(st.integers(0, 200), st.integers(1, 70))
def test_owners_are_the_ranges(n, size):
    expected = [rank for rank in range(size) for _ in range(*owned_range(n, size, rank))]
    assert block_owners(n, size).tolist() == expected
