"""Which weights a random layer has: irregular patterns of a given mean degree.

Every cell of a layer is a weight or not, independently; the kinds differ in
the probabilities, and in each a row has `degree` weights on average, some
rows many, some perhaps none.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

Probabilities = npt.NDArray[np.float64]

KINDS = {
    "er": "Erdős–Rényi: every cell alike",
    "powerlaw": "a few columns are used by very many rows, most by few",
    "block": "nine weights of ten lie in blocks along the diagonal",
}
TAIL_EXPONENT = 2.5
"""Of the column degrees under 'powerlaw': the share of columns of degree d falls as d^-2.5."""
BLOCKS = 8
INSIDE = 0.9
"""Share of the weights within the blocks, under 'block'."""
BLOCK_CELLS = 1 << 24
"""Cells of a layer drawn at a time."""


def random_pattern(
    rng: np.random.Generator, n_out: int, n_in: int, degree: int, kind: str
) -> sparse.csr_array:
    """Return a pattern.

    Parameters
    ----------
    rng : numpy.random.Generator
        What is drawn comes from it.
    n_out, n_in : int
        Rows and columns, 1 or more.
    degree : int
        Weights of a row on average, 1..n_in.
    kind : str
        One of KINDS.

    Returns
    -------
    (n_out, n_in) CSR array of int8 ones
        Columns ascending in each row.
    """
    height = max(1, BLOCK_CELLS // n_in)
    bands = [
        _bernoulli(rng, min(stop, start + height) - start, probability)
        for first, stop, probability in _bands(rng, n_out, n_in, degree, kind)
        for start in range(first, stop, height)
    ]
    return sparse.csr_array(sparse.vstack(bands, format="csr"))


def _bands(
    rng: np.random.Generator, n_out: int, n_in: int, degree: int, kind: str
) -> Iterator[tuple[int, int, Probabilities]]:
    """Yield ranges of rows that share their probabilities: (first, stop, (n_in,) float64)."""
    n_blocks = min(BLOCKS, n_out, n_in)
    if kind == "powerlaw":
        yield 0, n_out, rng.permutation(power_law(n_in, degree))
    elif kind == "er" or n_blocks == 1:
        yield 0, n_out, np.full(n_in, degree / n_in)
    else:
        rows, columns = (np.arange(n_blocks + 1) * n // n_blocks for n in (n_out, n_in))
        for block in range(n_blocks):
            inside = slice(columns[block], columns[block + 1])
            yield int(rows[block]), int(rows[block + 1]), block_law(n_in, degree, inside)


def power_law(n_in: int, degree: int) -> Probabilities:
    """Return probabilities of the columns that fall as a power of the rank.

    Parameters
    ----------
    n_in : int
        Columns.
    degree : int
        1..n_in.

    Returns
    -------
    (n_in,) float64 array
        Falling, at most 1, of sum `degree`.
    """
    weights = np.arange(1, n_in + 1) ** (-1 / (TAIL_EXPONENT - 1))
    # The first `full` columns get 1 and the rest share what is left.
    scale = (degree - np.arange(n_in)) / np.cumsum(weights[::-1])[::-1]
    full = int(np.argmax(scale * weights <= 1))
    return np.concatenate([np.ones(full), scale[full] * weights[full:]])


def block_law(n_in: int, degree: int, inside: slice) -> Probabilities:
    """Return probabilities of the columns, INSIDE of their sum on some where they hold it.

    Parameters
    ----------
    n_in : int
        Columns.
    degree : int
        1..n_in.
    inside : slice
        Of columns, not all of them.

    Returns
    -------
    (n_in,) float64 array
        Of sum `degree`.
    """
    width = inside.stop - inside.start
    within = min(1.0, INSIDE * degree / width)
    probability = np.full(n_in, (degree - within * width) / (n_in - width))
    probability[inside] = within
    return probability


def _bernoulli(
    rng: np.random.Generator, n_rows: int, probability: Probabilities
) -> sparse.csr_array:
    """Draw each cell (i, j) with probability[j], independently: (n_rows, n_in) CSR of ones."""
    n_in = len(probability)
    likely, rare = np.flatnonzero(probability > 0.5), np.flatnonzero(probability <= 0.5)
    rows, places = np.nonzero(rng.random((n_rows, len(likely))) < probability[likely])
    rare_rows, rare_places = _arrivals(rng, n_rows, probability[rare])
    cells = np.union1d(rows * n_in + likely[places], rare_rows * n_in + rare[rare_places])
    indptr = np.searchsorted(cells, np.arange(n_rows + 1) * n_in)
    return sparse.csr_array(
        (np.ones(len(cells), np.int8), cells % n_in, indptr), shape=(n_rows, n_in)
    )


def _arrivals(
    rng: np.random.Generator, n_rows: int, probability: Probabilities
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Draw cells with probability[j] < 1 in time that follows their number, not n_rows · n_in.

    The cells lie one after another on a line, column by column, each of length -log(1 - p),
    so a Poisson process of rate 1 hits it with probability p. Cells hit twice appear twice.
    """
    length = -np.log1p(-probability)
    ends = np.cumsum(n_rows * length)
    total = n_rows * length.sum()
    hits = rng.uniform(0, total, rng.poisson(total))
    columns = np.searchsorted(ends[:-1], hits, side="right")
    rows = (hits - ends[columns]) // length[columns] + n_rows
    return np.clip(rows, 0, n_rows - 1).astype(np.int64), columns  # clip: rounding at the ends
