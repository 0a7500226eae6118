"""SpFF: the forward pass of a rank (paper: its parallel sparse feedforward algorithm).

Receives and sends are posted, own columns are multiplied while messages move,
each message's columns are multiplied as it arrives (`layer_sum`). With several
waves, one wave's messages also move while the layers of the others are computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np
import numpy.typing as npt

from hpc.comm.exchange import Exchange, SendRing
from hpc.comm.tags import Tag
from hpc.io.shard import LayerShard, Shard
from hpc.spdnn.kernels import Weights
from hpc.spdnn.layer_sum import layer_sum
from hpc.spdnn.runtime import Buffers, Runtime, plan_buffers
from hpc.spdnn.waves import wave_spans
from hpc.spdnn.wires import boundary_segments, halo_segments, n_send, send_rows

Floats = npt.NDArray[np.floating]


class Forward:
    """A rank's forward pass, planned once for a batch and run many times.

    Parameters
    ----------
    layers : list of list of ForwardLayer
        Of each layer its waves, from `plan_layer`.
    levels : list of L+1 (panels, n_ext, width) arrays
        From `hpc.spdnn.levels`. Own rows of level 0 are the input, own rows of the last level the
        output. Level 0 may hold 0/1 inputs as words of 64 columns, (panels, n_ext, 1) uint64. Two
        levels in a row share no memory; with several waves, three.
    deep : bool
        Run one wave through all layers, then the next, as a rank without peers may: its levels
        stay in the cache. Levels then share memory panel by panel only.
    """

    def __init__(
        self, layers: list[list[ForwardLayer]], levels: list[Floats], deep: bool = False
    ) -> None:
        self.layers, self.levels, self._deep = layers, levels, deep

    def run(self) -> Floats:
        """Run all layers. Collective over the ranks of the runtime.

        Returns
        -------
        (panels, n_ext, width) array
            The last of `levels`, whose own rows are the output; that of a network has no others.
        """
        if self._deep:
            for way in zip(*self.layers, strict=True):
                for layer in way:
                    layer.begin()
                    layer.end()
            return self.levels[-1]
        last: list[ForwardLayer] = []
        for waves in self.layers:
            for wave, layer in enumerate(waves):
                if last:
                    last[wave].end()
                layer.begin()
            last = waves
        for layer in last:
            layer.end()
        return self.levels[-1]

    @property
    def exchanges(self) -> list[Exchange]:
        """The exchanges, which count words and messages: layer after layer, wave after wave."""
        return [layer.exchange for waves in self.layers for layer in waves]

    def free(self) -> None:
        """Release requests and datatypes, as `Exchange.free` does."""
        for exchange in self.exchanges:
            exchange.free()


def plan_forward(
    runtime: Runtime,
    shard: Shard,
    weights: list[list[Weights]],
    biases: list[Floats],
    levels: list[Floats],
    waves: int = 1,
) -> Forward:
    """Return the forward pass of all layers of `shard`.

    Parameters
    ----------
    runtime : Runtime
        Its communicator has shard.size ranks.
    shard : Shard
        This rank's share.
    weights : list of list of Weights
        Per layer [core, parts ...], from `runtime.layer_weights`.
    biases : list of (n_out,) arrays
        Per layer; read at every run.
    levels : list of arrays
        As `Forward` takes them.
    waves : int
        Into how many waves the panels are divided, at most one a panel. The same on all ranks.

    Returns
    -------
    Forward
        With buffers and requests of its own; to be freed.
    """
    panels, _, width = levels[0].shape
    spans = wave_spans(panels, waves)
    buffers = plan_buffers(shard, panels, width, levels[0].dtype, len(spans))
    return Forward(
        [
            plan_layer(
                runtime, buffers, k, layer, weights[k], biases[k], (levels[k], levels[k + 1]), spans
            )
            for k, layer in enumerate(shard.layers)
        ],
        levels,
    )  # fmt: skip


def plan_layer(
    runtime: Runtime,
    buffers: Buffers,
    number: int,
    layer: LayerShard,
    weights: list[Weights],
    bias: Floats,
    levels: tuple[Floats, Floats],
    spans: list[slice],
) -> list[ForwardLayer]:
    """Return the waves of one layer, the `number`-th of the network.

    Parameters
    ----------
    runtime : Runtime
        What all layers share.
    buffers : Buffers
        Shared with what never runs at the same time; with a ring for every wave.
    number : int
        0-based.
    layer : LayerShard
        This rank's share of the layer.
    weights : list of Weights
        [core, parts ...].
    bias : (n_out,) array
        Read at every run.
    levels : tuple of two arrays
        (x_ext, x_next).
    spans : list of slice
        The panels of each wave, from `wave_spans`.

    Returns
    -------
    list of ForwardLayer
        One for each wave.
    """
    x, x_next = levels
    return [
        ForwardLayer(runtime, buffers, ring, number, layer, weights, bias, (x[span], x_next[span]))
        for ring, span in zip(buffers.boundaries, spans, strict=False)
    ]


class ForwardLayer:
    """One layer of one wave: x_next[own] = f(W x_ext + b).

    Parameters
    ----------
    runtime, buffers, number, layer, weights, bias : as for `plan_layer`
        What the waves of a layer share.
    ring : SendRing
        The wave's own: what is sent is gathered there.
    levels : tuple of two arrays
        (x_ext, x_next), only the panels of the wave.

    Attributes
    ----------
    exchange : Exchange
        The paper's Xsend and Xrecv of the layer.
    """

    def __init__(
        self,
        runtime: Runtime,
        buffers: Buffers,
        ring: SendRing,
        number: int,
        layer: LayerShard,
        weights: list[Weights],
        bias: Floats,
        levels: tuple[Floats, Floats],
    ) -> None:
        self._clock, self._x = runtime.clock, levels[0]
        self._standing, self._number = runtime.standing, number
        panels, _, width = self._x.shape
        self._sum = layer_sum(runtime.kernel, layer, weights, bias, levels, buffers)
        self._ring = ring
        self._boundary = self._ring.buffer(number, (panels, n_send(layer), width), self._x.dtype)
        self._send_rows = send_rows(layer)
        self._users = partial(ring.receivers, number)
        self.exchange = Exchange(
            runtime.comm,
            Tag.FORWARD,
            boundary_segments(layer, self._boundary),
            halo_segments(layer, self._x),
            columns=levels[1].shape[2] // width,
        )

    def begin(self) -> None:
        """Post the messages, multiply own columns. The own rows of x_ext are complete."""
        self._start()
        self._standing.at("forward", self._number)
        self._sum.multiply_core(self.exchange.poll)
        self._clock.lap("compute")

    def end(self) -> None:
        """Multiply what arrives; x_next's own rows are complete."""
        for index in self._arrivals():
            self._sum.take(index)
        self._sum.finish()
        self._clock.lap("compute")

    def _start(self) -> None:
        self.exchange.start_receives()
        if len(self._send_rows):
            self._standing.at("forward", self._number, self._users)
            self._ring.take(self._number, self.exchange)
            self._clock.lap("wait")
            np.take(self._x, self._send_rows, axis=1, out=self._boundary, mode="clip")
            self.exchange.start_sends()
        self._clock.lap("pack")

    def _arrivals(self) -> Iterator[int]:
        self._standing.at("forward", self._number, self.exchange.awaited)
        for index in self.exchange.arrivals():
            self._clock.lap("wait")
            self._standing.at("forward", self._number)
            yield index
            self._clock.lap("compute")
            self._standing.at("forward", self._number, self.exchange.awaited)
