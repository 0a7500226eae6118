"""A layer's sums with bias and activation applied where a row's sum is complete."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hpc.io.shard import LayerShard
from hpc.spdnn.activations import curve_of
from hpc.spdnn.kernels import Weights
from hpc.spdnn.numba_kernel import NumbaKernel, product_loops, widest_tile
from hpc.spdnn.ordered_sum import OrderedSum
from hpc.spdnn.panels import flat

Floats = npt.NDArray[np.floating]
Flags = npt.NDArray[np.uint8]
POLL_EDGES = 5_000_000
"""Weights times columns between two looks at the messages: some tenths of a millisecond."""


class FusedSum(OrderedSum):
    """`LayerSum` on the compiled loops: each row is finished by the last part that has it.

    The part's product is summed from zero and then added, as `OrderedSum` does, so a part
    that comes early gives the same bits.

    Parameters
    ----------
    kernel : NumbaKernel
        Its team shares each product.
    layer : LayerShard
        For its activation.
    weights : list of Weights
        [core, parts ...].
    bias : (n_out,) float array
        Read at every run.
    levels : tuple of two (panels, rows, width) arrays
        (x_ext, x_next), see `layer_sum`.
    store, scratch : flat float arrays
        See `OrderedSum`.
    """

    def __init__(
        self,
        kernel: NumbaKernel,
        layer: LayerShard,
        weights: list[Weights],
        bias: Floats,
        levels: tuple[Floats, Floats],
        store: Floats,
        scratch: Floats,
    ) -> None:
        x, z = levels[0], levels[1][:, : layer.n_out]
        super().__init__(kernel, weights[1:], x, z, store, scratch)
        self._team = kernel.team
        self._loops, self._widest = product_loops(z.dtype), widest_tile(z.dtype)
        self._width = z.shape[2]
        self._sources, self._targets = flat(x), flat(z)
        self._curve = curve_of(layer.activation)
        low, high = _limits(layer.activation, layer.clip)
        self._outputs = [
            (part.rows, last, bias, low, high, index > 0)
            for index, (part, last) in enumerate(
                zip(weights, _known_last_parts(weights, layer.n_out), strict=True)
            )
        ]
        self._weights = weights
        stride = POLL_EDGES // max(1, len(weights[0].data) * self._width)
        self._stride = max(1, stride) * self._team.size

    def multiply_core(self, poll: Callable[[], None]) -> None:
        """Multiply the own columns, and finish the rows that have no others.

        Parameters
        ----------
        poll : callable
            Called between panels, every POLL_EDGES weights times columns a thread or so.
        """
        self.restart()
        panels = len(self._x)
        for first in range(0, panels, self._stride):
            self._multiply(0, (first, min(first + self._stride, panels)))
            poll()

    def finish(self) -> None:
        """Apply what could not be fused: activations that are curves."""
        if self._curve:
            for z in self._z:
                self._curve(z)

    def _multiply(self, index: int, panels: tuple[int, int]) -> None:
        weights = self._weights[index]
        rows, work = (0, weights.n_rows), len(weights.data) * self._width * (panels[1] - panels[0])

        def multiply(panels: tuple[int, int], rows: tuple[int, int]) -> None:
            self._loops.multiply(
                weights.csr, self._outputs[index], *self._sources, *self._targets,
                self._width, panels, rows, self._widest,
            )  # fmt: skip

        if panels[1] - panels[0] < self._team.size:
            self._team.run(lambda first, stop: multiply(panels, (first, stop)), rows, work)
        else:
            self._team.run(lambda first, stop: multiply((first, stop), rows), panels, work)

    def _multiply_and_add(self, index: int) -> None:
        self._multiply(index + 1, (0, len(self._x)))
        self._next += 1

    def _add(self, index: int, product: Floats) -> None:
        output, panels = self._outputs[index + 1], (0, len(self._x))
        self._loops.add_rows(product.reshape(-1), output, *self._targets, self._width, panels)
        self._next += 1


def _known_last_parts(weights: list[Weights], n_out: int) -> list[Flags]:
    """Return `last_parts`, found once for all waves and batches of a layer."""
    if any(part.last is None for part in weights):
        for part, last in zip(weights, last_parts(weights, n_out), strict=True):
            part.last = last
    return [part.last for part in weights if part.last is not None]


def last_parts(weights: list[Weights], n_out: int) -> list[Flags]:
    """Return per part, (m,) uint8, whether no later part has the row.

    Parameters
    ----------
    weights : list of Weights
        [core, parts ...], in the order in which they are added.
    n_out : int
        Rows of the layer.

    Returns
    -------
    list of (m,) uint8 arrays
        0 or 1 for each row of each part.
    """
    last = np.zeros(n_out, np.intp)
    for index, part in enumerate(weights):
        last[part.rows] = index
    return [(last[part.rows] == index).astype(np.uint8) for index, part in enumerate(weights)]


def _limits(activation: str, clip: float) -> tuple[float, float]:
    """Return (low, high): the activation is min(max(z, low), high), or a curve applied later."""
    low = 0.0 if activation in ("relu", "clipped-relu") else -np.inf
    return low, clip if activation == "clipped-relu" else np.inf
