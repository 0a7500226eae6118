"""The first layer on 0/1 inputs: sums straight from bits, which are also what is exchanged."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding

from hpc.spdnn.compiled import loops
from hpc.spdnn.fused_sum import FusedSum
from hpc.spdnn.panels import flat

Words = npt.NDArray[Any]
WORD = 64
"""Columns of a word and of a panel of this layer's outputs."""


class BitsSum(FusedSum):
    """`LayerSum` of a level of words, (panels, n_ext, 1) uint64, into panels of width WORD."""

    def __init__(self, *planned: Any) -> None:
        super().__init__(*planned)
        layer, dtype = planned[1], self._z.dtype
        self._multiply_bits = _multiply(dtype)
        bounds = np.cumsum([0, layer.n_in, *map(len, layer.needs)]).tolist()
        self._columns = list(pairwise(bounds))
        self._lanes = np.empty(16 * layer.n_ext, np.uint32)

    def _multiply(self, index: int, panels: tuple[int, int]) -> None:
        self._multiply_bits(
            self._weights[index].csr, self._outputs[index], *self._sources, *self._targets,
            panels, self._columns[index], self._lanes,
        )  # fmt: skip

    def _multiply_early(self, index: int) -> None:
        """Let a part that comes early wait for its turn."""


def fill_words(raw: npt.NDArray[np.uint8], first: int, columns: int, words: Words) -> None:
    """Fill the first rows of words, (panels, n_ext, 1), from stored bits, (rows, bytes).

    first : bit of a row's first column, 0..7.
    """
    numbers, pitch = flat(words)
    fill = loops("hpc.spdnn.bit_loops", np.dtype(np.float32)).fill_words
    fill(np.ascontiguousarray(raw), first, columns, numbers, pitch)


def _multiply(dtype: np.dtype[np.floating]) -> Callable[..., None]:
    """Return the product by table look-up where the host has it, else by masks."""
    picks = dtype == np.float32 and binding.get_host_cpu_features().get("avx512f")
    name = "lookup_loops" if picks else "bit_loops"
    product: Callable[..., None] = loops(f"hpc.spdnn.{name}", dtype).multiply
    return product
