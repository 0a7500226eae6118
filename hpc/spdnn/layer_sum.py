"""How a kernel sums up a layer: own columns, messages in rank order, bias and activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hpc.io.shard import LayerShard
from hpc.spdnn.activations import activate
from hpc.spdnn.kernels import Kernel, Weights
from hpc.spdnn.ordered_sum import OrderedSum
from hpc.spdnn.runtime import Buffers

Floats = npt.NDArray[np.floating]


class LayerSum(Protocol):
    """Computes x_next[own] = f(W x_ext + b), once per run."""

    def multiply_core(self, poll: Callable[[], None]) -> None:
        """Begin: multiply own columns.

        Parameters
        ----------
        poll : callable
            Called between panels, to look at the messages.
        """

    def take(self, index: int) -> None:
        """Multiply part `index`, whose message has arrived, and add what can be added.

        Parameters
        ----------
        index : int
            Of the parts, 0-based; each once a run, in any order.
        """

    def finish(self) -> None:
        """Complete what is left of bias and activation, once all parts are taken."""


class SeparateSum(OrderedSum):
    """`LayerSum` on any kernel: products first, then bias and activation over all rows.

    Parameters
    ----------
    kernel : Kernel
        Multiplies.
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
        kernel: Kernel,
        layer: LayerShard,
        weights: list[Weights],
        bias: Floats,
        levels: tuple[Floats, Floats],
        store: Floats,
        scratch: Floats,
    ) -> None:
        super().__init__(
            kernel, weights[1:], levels[0], levels[1][:, : layer.n_out], store, scratch
        )
        self._core, self._layer, self._bias = weights[0], layer, bias

    def multiply_core(self, poll: Callable[[], None]) -> None:
        """Multiply the own columns, panel by panel.

        Parameters
        ----------
        poll : callable
            Called after each.
        """
        self.restart()
        for panel in range(len(self._x)):
            self._kernel.multiply(self._core, self._x[panel], self._z[panel])
            poll()

    def finish(self) -> None:
        """Apply bias and activation."""
        for z in self._z:
            activate(z, self._bias, self._layer.activation, self._layer.clip)


def layer_sum(
    kernel: Kernel,
    layer: LayerShard,
    weights: list[Weights],
    bias: Floats,
    levels: tuple[Floats, Floats],
    buffers: Buffers,
) -> LayerSum:
    """Plan a layer's sum.

    Parameters
    ----------
    kernel : Kernel
        Decides how bias and activation are applied.
    layer : LayerShard
        This rank's share of the layer.
    weights : list of Weights
        [core, parts ...].
    bias : (n_out,) float array
        Read at every run.
    levels : tuple of two arrays
        (x_ext, x_next), (panels, n_ext, width) and (panels, at least n_out, width); x_ext may be
        words of 64 columns, (panels, n_ext, 1) uint64, for the numba kernel.
    buffers : Buffers
        Whose `early` and `scratch` are used.

    Returns
    -------
    LayerSum
        To be run many times.
    """
    kind: Callable[..., LayerSum] = SeparateSum
    if levels[0].dtype == np.uint64:
        from hpc.spdnn.bits_sum import BitsSum

        kind = BitsSum
    elif kernel.name == "numba":
        from hpc.spdnn.fused_sum import FusedSum

        kind = FusedSum
    return kind(kernel, layer, weights, bias, levels, buffers.early, buffers.scratch)
