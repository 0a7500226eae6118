"""Random layers and owners for tests of cuts, and what an exchange must hold, counted by sets."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy import sparse


@st.composite
def cut_layers(draw, max_rows=12, max_parts=5):
    """Draw (pattern, owners_in, owners_out, parts): empty rows, columns and ranks included."""
    n_out, n_in = draw(st.integers(1, max_rows)), draw(st.integers(1, max_rows))
    parts = draw(st.integers(1, max_parts))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    dense = rng.uniform(-1, 1, (n_out, n_in)) * (rng.random((n_out, n_in)) < rng.random())
    if draw(st.booleans()):  # equal rows, as the Challenge's networks have them
        dense = dense[rng.integers(0, n_out, n_out)]
    owners = [rng.integers(0, parts, n).astype(np.int32) for n in (n_in, n_out)]
    return sparse.csr_array(dense), *owners, parts


def needed(pattern, owners_in, owners_out, receiver, sender):
    """Return the columns of `sender` that rows of `receiver` use, ascending."""
    used = (pattern.toarray()[owners_out == receiver] != 0).any(axis=0)
    return np.flatnonzero(used & (owners_in == sender)).tolist()


def brute_words(pattern, owners_in, owners_out, parts):
    """Return the (P, P) number of words that each rank sends to each other."""
    words = np.zeros((parts, parts), np.int64)
    for sender in range(parts):
        for receiver in range(parts):
            if sender != receiver:
                found = needed(pattern, owners_in, owners_out, receiver, sender)
                words[sender, receiver] = len(found)
    return words
