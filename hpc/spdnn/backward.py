"""SpBP: the backward pass of a rank (paper: its algorithm 3), the mirror of SpFF.

Per layer: partial sums for other ranks' neurons first, and out; then the own
partial sums, the weight gradient and the update while they move; then the
received partial sums are added, in rank order.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from hpc.comm.exchange import Exchange, SendRing
from hpc.comm.tags import Tag
from hpc.io.shard import LayerShard, Shard
from hpc.spdnn.kernels import add_rows
from hpc.spdnn.parameters import LayerParameters
from hpc.spdnn.runtime import Buffers, Runtime, plan_buffers
from hpc.spdnn.wires import boundary_segments, halo_segments, n_send

Floats = npt.NDArray[np.floating]
Update = Callable[[int], None]
GRADIENT_PANELS = 4
"""Panels between two looks at the messages: a weight's gradient is summed over them at once."""


class Backward:
    """A rank's backward pass, planned once for a batch and run many times.

    Parameters
    ----------
    runtime : its communicator has shard.size ranks.
    shard : this rank's share.
    levels : L+1 arrays (panels, n_ext, width) that the forward pass filled, all kept.
    parameters : per layer; `run` overwrites the gradients.

    Attributes
    ----------
    delta : own rows of δ^L, (panels, n_out, width); filled by the caller before `run`.
    """

    def __init__(
        self,
        runtime: Runtime,
        shard: Shard,
        levels: list[Floats],
        parameters: list[LayerParameters],
    ) -> None:
        panels, _, width = levels[0].shape
        buffers = plan_buffers(shard, panels, width, levels[0].dtype)
        ring = SendRing(max(level.size for level in levels), levels[0].dtype)
        sums = [ring.buffer(k, level.shape) for k, level in enumerate(levels)]
        self.delta = sums[-1]
        self.layers: list[BackwardLayer] = []
        for k, layer in enumerate(shard.layers):
            delta = sums[k + 1][:, : layer.n_out]
            made = BackwardLayer(runtime, buffers, k, layer, parameters[k], levels[k], delta)
            if k:
                made.relay(ring, sums[k], shard.layers[k - 1])
            self.layers.append(made)

    def run(self, update: Update) -> None:
        """Run all layers, last first. Collective over the ranks of the runtime.

        Parameters
        ----------
        update : callable
            Called with each layer's number (0-based) once its gradient is complete and its weights
            are no longer needed in this step.
        """
        for layer in reversed(self.layers):
            layer.run(update)

    @property
    def exchanges(self) -> list[Exchange]:
        """The exchanges, which count words and messages."""
        return [layer.exchange for layer in self.layers if layer.exchange]

    def free(self) -> None:
        """Release requests and datatypes, as `Exchange.free` does."""
        for exchange in self.exchanges:
            exchange.free()


class BackwardLayer:
    """One layer: its gradient from δ and x_ext and, after `relay`, δ of the level below.

    Parameters
    ----------
    runtime : Runtime
        What all layers of the pass share.
    buffers : Buffers
        Room for what is received, shared with the layers that run before and after.
    turn : int
        The layer's number, 0-based; picks its buffers among those used in turn.
    layer : LayerShard
        This rank's share of the layer.
    parameters : LayerParameters
        `run` overwrites the gradients.
    x_ext : (panels, n_ext, width) float array
        The level below, as the forward pass left it.
    delta : (panels, n_out, width) float array
        Own rows of δ.

    Attributes
    ----------
    exchange : Exchange or None
        Of the partial sums; None until `relay`.
    """

    def __init__(
        self,
        runtime: Runtime,
        buffers: Buffers,
        turn: int,
        layer: LayerShard,
        parameters: LayerParameters,
        x_ext: Floats,
        delta: Floats,
    ) -> None:
        self._runtime, self._buffers, self._turn = runtime, buffers, turn
        self._layer, self._parameters = layer, parameters
        self._x, self._delta = x_ext, delta
        self.exchange: Exchange | None = None

    def relay(self, ring: SendRing, sums: Floats, below: LayerShard) -> None:
        """Plan the propagation into `sums`. Not called for the first layer: nothing is below.

        Parameters
        ----------
        ring : SendRing
            The buffers of δ of all levels, used in turn.
        sums : (panels, n_ext, width) float array
            A buffer of `ring`: partial sums by halo row, and in the own rows δ of the level below.
        below : LayerShard
            The layer below, whose activation is differentiated.
        """
        panels, _, width = sums.shape
        self._ring, self._sums, self._below = ring, sums, below
        self._users = partial(ring.receivers, self._turn)
        shape = (panels, n_send(self._layer), width)
        received = self._buffers.boundary.buffer(self._turn, shape)
        segments = boundary_segments(self._layer, received)
        self._received = [received[:, part.start : part.stop] for part in segments]
        self.exchange = Exchange(
            self._runtime.comm, Tag.BACKWARD, halo_segments(self._layer, sums), segments
        )

    def run(self, update: Update) -> None:
        """Run the layer; see `Backward.run`.

        Parameters
        ----------
        update : callable
            Called with this layer's number while its messages move.
        """
        self._runtime.standing.at("backward", self._turn)
        if self.exchange is None:
            self._gradient()
            update(self._turn)
            return
        self._send_partial_sums(self.exchange)
        self._own_partial_sums(self.exchange)
        self._gradient()
        update(self._turn)
        self._runtime.clock.lap("compute")
        self._finish(self.exchange)

    def _send_partial_sums(self, exchange: Exchange) -> None:
        exchange.start_receives()
        self._runtime.standing.at("backward", self._turn, self._users)
        self._ring.take(self._turn, exchange)
        self._runtime.standing.at("backward", self._turn)
        self._runtime.clock.lap("wait")
        self._sums[...] = 0
        for index in range(1, len(self._parameters.weights)):
            for panel in range(len(self._x)):
                self._transposed(index, panel)
            exchange.start_send(index - 1)
        self._runtime.clock.lap("compute")

    def _own_partial_sums(self, exchange: Exchange) -> None:
        for panel in range(len(self._x)):
            self._transposed(0, panel)
            exchange.poll()

    def _transposed(self, index: int, panel: int) -> None:
        weights = self._parameters.weights[index]
        self._runtime.kernel.add_transposed(weights, self._delta[panel], self._sums[panel])

    def _gradient(self) -> None:
        parameters = self._parameters
        parameters.gradient[...] = 0
        for start in range(0, len(self._x), GRADIENT_PANELS):
            span = slice(start, start + GRADIENT_PANELS)
            for outer in parameters.outers:
                self._runtime.kernel.add_gradient(outer, self._delta[span], self._x[span])
            if self.exchange:
                self.exchange.poll()
        np.einsum("prw->r", self._delta, out=parameters.bias_gradient)

    def _finish(self, exchange: Exchange) -> None:
        self._runtime.standing.at("backward", self._turn, exchange.awaited)
        for _ in exchange.arrivals():
            pass
        self._runtime.standing.at("backward", self._turn)
        self._runtime.clock.lap("wait")
        for panel in range(len(self._x)):
            sums = self._sums[panel]
            for (_, rows), received in zip(self._layer.sends, self._received, strict=True):
                add_rows(sums, rows, received[panel], self._buffers.scratch)
            own = slice(0, self._layer.n_in)
            self._runtime.kernel.multiply_by_derivative(
                sums[own],
                self._x[panel, own],
                self._below.activation,
                self._below.clip,
                self._buffers.scratch,
            )
        self._runtime.clock.lap("compute")
