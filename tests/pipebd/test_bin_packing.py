from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from hpc.pipebd.bin_packing import longest_first

costs = st.lists(st.integers(0, 20).map(float), min_size=1, max_size=6)


def test_the_textbook_example():
    """Graham 1969: jobs 5 5 4 4 3 3 3 on three machines end at 11, the optimum is 9."""
    packed = longest_first([5, 5, 4, 4, 3, 3, 3], [1, 1, 1])
    assert packed == ((0, 4, 6), (1, 5), (2, 3))
    assert max(sum([5, 5, 4, 4, 3, 3, 3][b] for b in blocks) for blocks in packed) == 11


def test_a_faster_rank_gets_more():
    assert longest_first([4, 4, 4], [2, 1]) == ((0, 1), (2,))


def test_more_ranks_than_blocks():
    assert longest_first([1, 2], [1, 1, 1]) == ((1,), (0,), ())


@given(costs, st.integers(1, 3))
def test_every_block_once_and_within_grahams_bound(work, n_ranks):
    packed = longest_first(work, [1.0] * n_ranks)
    assert sorted(b for blocks in packed for b in blocks) == list(range(len(work)))
    ends = max(sum(work[b] for b in blocks) for blocks in packed)
    best = min(
        max(sum(w for w, r in zip(work, where, strict=True) if r == rank) for rank in where)
        for where in product(range(n_ranks), repeat=len(work))
    )
    assert best <= ends <= (4 / 3 - 1 / (3 * n_ranks)) * best + 1e-9
