"""Products computed as their messages arrive, added in rank order: always the same bits."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpc.spdnn.kernels import Kernel, Weights, add_rows

Floats = npt.NDArray[np.floating]


class OrderedSum:
    """Adds W_i x to z for i = 0, 1, ... although the x_i arrive in any order.

    A part whose turn it is goes straight to z, a panel at a time. One that comes early is
    multiplied into `store` if that has room; else it waits, unmultiplied, for its turn.

    Parameters
    ----------
    kernel : Kernel
        Multiplies.
    parts : list of Weights
        By source, source ascending.
    x : (panels, n_ext, width) array
        Whose halo rows messages fill.
    z : (panels, n_out, width) array
        Added to.
    store : flat array
        For products that come early.
    scratch : flat array
        Two panels of any part.
    """

    def __init__(
        self,
        kernel: Kernel,
        parts: list[Weights],
        x: Floats,
        z: Floats,
        store: Floats,
        scratch: Floats,
    ) -> None:
        self._kernel, self._parts, self._x, self._z = kernel, parts, x, z
        self._store, self._used = store, 0
        half = len(scratch) // 2
        self._product, self._gathered = scratch[:half], scratch[half:]
        self._early: dict[int, Floats | None] = {}
        self._next = 0

    def restart(self) -> None:
        """Begin again with the first part."""
        self._next = self._used = 0

    def take(self, index: int) -> None:
        """Multiply part `index`, whose message has arrived, and add what can be added.

        Parameters
        ----------
        index : int
            Of `parts`; each once before the next `restart`.
        """
        if index != self._next:
            self._early[index] = self._multiply_early(index)
            return
        self._multiply_and_add(index)
        while self._next in self._early:
            product = self._early.pop(self._next)
            if product is None:
                self._multiply_and_add(self._next)
            else:
                self._add(self._next, product)

    def _multiply_early(self, index: int) -> Floats | None:
        weights = self._parts[index]
        panels, _, width = self._x.shape
        size = panels * weights.n_rows * width
        if self._used + size > len(self._store):
            return None
        product = self._store[self._used : self._used + size]
        product = product.reshape(panels, weights.n_rows, width)
        self._used += size
        for panel in range(panels):
            self._kernel.multiply(weights, self._x[panel], product[panel])
        return product

    def _multiply_and_add(self, index: int) -> None:
        weights, width = self._parts[index], self._x.shape[2]
        product = self._product[: weights.n_rows * width].reshape(weights.n_rows, width)
        for panel in range(len(self._x)):
            self._kernel.multiply(weights, self._x[panel], product)
            add_rows(self._z[panel], weights.rows, product, self._gathered)
        self._next += 1

    def _add(self, index: int, product: Floats) -> None:
        for panel in range(len(self._x)):
            add_rows(self._z[panel], self._parts[index].rows, product[panel], self._gathered)
        self._next += 1
