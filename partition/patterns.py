"""The layers' patterns, read when needed: a window of them is in memory, never the network."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from scipy import sparse

from hpc.io.network import NetworkFile


class Patterns:
    """The patterns of an open network file; keeps the `kept` used last.

    Parameters
    ----------
    network : NetworkFile
        Open as long as patterns are asked for.
    kept : int
        Layers in memory at a time, 1 or more.

    Attributes
    ----------
    sizes : (L+1,) neurons per level.
    """

    def __init__(self, network: NetworkFile, kept: int) -> None:
        self._network = network
        self._kept = kept
        self._cache: OrderedDict[int, sparse.csr_array] = OrderedDict()
        self.sizes = network.header.sizes

    def __len__(self) -> int:
        """Return the number of layers."""
        return len(self.sizes) - 1

    def __getitem__(self, layer: int) -> sparse.csr_array:
        """Return the pattern of `layer` (0-based): (n_out, n_in) CSR of int8 ones."""
        if not 0 <= layer < len(self):
            raise IndexError(layer)
        if layer not in self._cache:
            self._cache[layer] = self._read(layer)
        self._cache.move_to_end(layer)
        while len(self._cache) > self._kept:
            self._cache.popitem(last=False)
        return self._cache[layer]

    def _read(self, layer: int) -> sparse.csr_array:
        weight = self._network.layer(layer).weight
        ones = np.ones(weight.nnz, np.int8)
        pattern = sparse.csr_array((ones, weight.indices, weight.indptr), shape=weight.shape)
        pattern.has_sorted_indices = True
        return pattern
