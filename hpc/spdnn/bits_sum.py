"""The first layer on 0/1 inputs: sums straight from bits, which are also what is exchanged."""

from __future__ import annotations

import threading
from collections.abc import Callable
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding

from hpc.spdnn.compiled import loops
from hpc.spdnn.fused_sum import FusedSum
from hpc.spdnn.kernels import Weights
from hpc.spdnn.panels import flat

Words = npt.NDArray[Any]
MOST_COUNTED = 63
"""Weights of a row that fit the planes of `hpc.spdnn.count_vectors`."""
TOGETHER = 4
"""Panels that the loops take at a time at most."""
WORD = 64
"""Columns of a word and of a panel of this layer's outputs."""


class BitsSum(FusedSum):
    """`LayerSum` of a level of words, (panels, n_ext, 1) uint64, into panels of width WORD.

    Parameters
    ----------
    *planned : tuple
        What `FusedSum` takes, in its order; levels[0] is of words, levels[1] of width WORD.
    """

    def __init__(self, *planned: Any) -> None:
        super().__init__(*planned)
        layer, dtype = planned[1], self._z.dtype
        _word_loops()  # compiled now, not when the first batch is filled
        self._multiply_bits = [_multiply(weights, dtype) for weights in self._weights]
        bounds = np.cumsum([0, layer.n_in, *map(len, layer.needs)]).tolist()
        self._columns = list(pairwise(bounds))
        self._n_lanes, self._scratch = 16 * layer.n_ext, threading.local()

    def _multiply(self, index: int, panels: tuple[int, int]) -> None:
        first, last = panels
        groups = -(-(last - first) // TOGETHER)
        work = len(self._weights[index].data) * (last - first) * WORD

        def some(start: int, stop: int) -> None:
            span = first + start * TOGETHER, min(first + stop * TOGETHER, last)
            self._multiply_bits[index](
                self._weights[index].csr, self._outputs[index], *self._sources, *self._targets,
                span, self._columns[index], self._lanes(),
            )  # fmt: skip

        self._team.run(some, (0, groups), work)

    def _lanes(self) -> npt.NDArray[np.uint32]:
        """Return the calling thread's own scratch."""
        if not hasattr(self._scratch, "lanes"):
            self._scratch.lanes = np.empty(self._n_lanes, np.uint32)
        lanes: npt.NDArray[np.uint32] = self._scratch.lanes
        return lanes

    def _multiply_early(self, index: int) -> None:
        """Let a part that comes early wait for its turn."""


def fill_words(raw: npt.NDArray[np.uint8], first: int, columns: int, words: Words) -> None:
    """Fill the first rows of words from stored bits; bits beyond the last column become zeros.

    Parameters
    ----------
    raw : (rows, bytes) uint8 array
        Inputs as a samples file stores them, eight columns a byte, lowest bit first.
    first : int
        Bit of a row's first column, 0..7.
    columns : int
        How many columns follow.
    words : (panels, n_ext, 1) uint64 array
        Overwritten in its first `rows` rows, 64 columns a word.
    """
    numbers, pitch = flat(words)
    _word_loops().fill_words(np.ascontiguousarray(raw), first, columns, numbers, pitch)


def _word_loops() -> SimpleNamespace:
    return loops("hpc.spdnn.word_loops", np.dtype(np.float32))


def countable(weights: Weights) -> bool:
    """Return whether every row has equal weights, and few enough to count.

    Parameters
    ----------
    weights : Weights
        Of one part.

    Returns
    -------
    bool
        Whether no row has more than MOST_COUNTED weights, or two that differ.
    """
    lengths = np.diff(weights.indptr)
    if lengths.max(initial=0) > MOST_COUNTED:
        return False
    firsts = weights.data[weights.indptr[:-1][lengths > 0]]
    return bool(np.array_equal(weights.data, np.repeat(firsts, lengths[lengths > 0])))


def _multiply(weights: Weights, dtype: np.dtype[np.floating]) -> Callable[..., None]:
    """Return the product by counting where a row's weights are equal; else by table look-up
    where the host has it; else by masks.
    """
    picks = dtype == np.float32 and binding.get_host_cpu_features().get("avx512f")
    name = "count_loops" if countable(weights) else "lookup_loops" if picks else "bit_loops"
    product: Callable[..., None] = loops(f"hpc.spdnn.{name}", dtype).multiply
    return product
