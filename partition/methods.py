"""The methods of assigning neurons to parts: hypergraph, random, block, behind one interface."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from hpc.io.ownership import block_owners
from partition.asked import Asked
from partition.candidates import hypergraph_levels
from partition.hypergraph import Blocks
from partition.patterns import Patterns

Method = Callable[[Asked, Patterns, Callable[[], None]], list[Blocks]]
"""(what is asked, the layers, called after each layer) → owners of levels 0..L, (n_k,) int32."""


def random_levels(
    asked: Asked, patterns: Patterns, on_layer: Callable[[], None] = lambda: None
) -> list[Blocks]:
    """Return the paper's baseline: neurons dealt out at random, by number equally many a part.

    Parameters
    ----------
    asked : Asked
        Its `parts` and `seed`.
    patterns : Patterns
        Only the sizes of the levels are looked at.
    on_layer : callable
        Not called: no layer is read.

    Returns
    -------
    list of (n_k,) int32 arrays
        Levels 0..L; the parts of a level differ by at most one neuron.
    """
    return [
        np.random.default_rng([asked.seed, level]).permutation(block_owners(n, asked.parts))
        for level, n in enumerate(patterns.sizes)
    ]


def block_levels(
    asked: Asked, patterns: Patterns, on_layer: Callable[[], None] = lambda: None
) -> list[Blocks]:
    """Return contiguous blocks, which is also what runs without a plan.

    Parameters
    ----------
    asked : Asked
        Its `parts`.
    patterns : Patterns
        Only the sizes of the levels are looked at.
    on_layer : callable
        Not called: no layer is read.

    Returns
    -------
    list of (n_k,) int32 arrays
        Levels 0..L, ascending.
    """
    return [block_owners(n, asked.parts) for n in patterns.sizes]


METHODS: dict[str, Method] = {
    "hypergraph": hypergraph_levels,
    "random": random_levels,
    "block": block_levels,
}
