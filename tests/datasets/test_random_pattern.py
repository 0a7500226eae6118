import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from datasets import random_pattern as patterns
from datasets.random_pattern import KINDS, block_law, power_law, random_pattern


@st.composite
def shapes(draw):
    n_out, n_in = draw(st.integers(1, 40)), draw(st.integers(1, 40))
    return n_out, n_in, draw(st.integers(1, n_in))


@pytest.mark.parametrize("kind", KINDS)
@given(shapes(), st.integers(0, 99), st.sampled_from([1, 100, 1 << 24]))
def test_patterns_are_proper_csr(kind, shape, seed, cells):
    n_out, n_in, degree = shape
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(patterns, "BLOCK_CELLS", cells)
        found = random_pattern(np.random.default_rng(seed), n_out, n_in, degree, kind)
    assert found.shape == (n_out, n_in)
    assert found.has_canonical_format
    assert (found.data == 1).all()
    if degree == n_in:
        assert found.nnz == n_out * n_in


@given(shapes())
def test_laws_share_out_the_degree(shape):
    _, n_in, degree = shape
    law = power_law(n_in, degree)
    assert law.shape == (n_in,)
    assert law.sum() == pytest.approx(degree)
    assert law.max() <= 1 + 1e-12
    assert (np.diff(law) <= 0).all()
    if n_in > 1:
        law = block_law(n_in, degree, slice(0, n_in // 2))
        assert law.sum() == pytest.approx(degree)
        assert (law >= 0).all()
        assert (law <= 1 + 1e-12).all()


@pytest.mark.parametrize("kind", KINDS)
def test_cells_are_drawn_with_their_probabilities(kind):
    """Over 2,000 layers each cell's frequency lies within 5.5 sigma of a law written down here."""
    n_out, n_in, degree, n = 12, 10, 4, 2000
    rng = np.random.default_rng(11)
    drawn = (random_pattern(rng, n_out, n_in, degree, kind).toarray() for _ in range(n))
    total = sum(cells.astype(int) for cells in drawn)
    assert total.sum() / n / n_out == pytest.approx(degree, rel=0.02)
    wanted = {
        "er": np.full((n_out, n_in), 0.4),
        "powerlaw": np.full((n_out, n_in), 0.4),  # columns are shuffled in each layer
        "block": block_frequencies(n_out, n_in, degree),
    }[kind]
    sigma = np.sqrt(n * wanted * (1 - wanted))
    assert (np.abs(total - n * wanted) <= 5.5 * sigma).all()


def block_frequencies(n_out, n_in, degree):
    frequency = np.zeros((n_out, n_in))
    for block in range(8):
        rows = slice(block * n_out // 8, (block + 1) * n_out // 8)
        columns = slice(block * n_in // 8, (block + 1) * n_in // 8)
        width = columns.stop - columns.start
        inside = min(1, 0.9 * degree / width)
        frequency[rows] = (degree - inside * width) / (n_in - width)
        frequency[rows, columns] = inside
    return frequency


def test_er_rows_vary_and_some_are_empty():
    counts = np.diff(random_pattern(np.random.default_rng(0), 4000, 1000, 3, "er").indptr)
    assert counts.mean() == pytest.approx(3, abs=0.15)
    assert counts.var() == pytest.approx(3, abs=0.3)
    assert (counts == 0).mean() == pytest.approx(np.exp(-3), abs=0.015)


def test_power_law_columns_have_a_heavy_tail():
    n, degree = 4096, 16
    found = random_pattern(np.random.default_rng(0), n, n, degree, "powerlaw")
    columns = np.sort(np.bincount(found.indices, minlength=n))[::-1]
    # Column degrees fall as rank^(-1 / 1.5): a slope of -2/3 on logarithmic axes.
    ranks = np.arange(20, 1000)
    slope = np.polyfit(np.log(ranks), np.log(columns[ranks - 1]), 1)[0]
    assert slope == pytest.approx(-2 / 3, abs=0.05)
    assert columns[0] > 50 * degree
    assert found.nnz / n == pytest.approx(degree, rel=0.02)


def test_block_weights_lie_mostly_in_blocks():
    found = random_pattern(np.random.default_rng(0), 1024, 2048, 16, "block").tocoo()
    same = found.row // 128 == found.col // 256
    assert same.mean() == pytest.approx(0.9, abs=0.01)
