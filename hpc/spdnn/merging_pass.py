"""Batches through all layers, with equal columns merged on the way and survivors pooled.

Between looks for equal columns the layers run as a `Forward` of their own, made when the
stretch of layers is first met with a shape and a buffer; the layers are planned once for all.
Two buffers hold the levels in turn, three where waves let a level be written while the last
but one is still read.
What is left of a batch, once that is half of it or less, waits in a pool at its level
until the pool is full, so deep layers see large batches of distinct columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hpc.comm.exchange import Exchange
from hpc.io.shard import Shard
from hpc.spdnn.forward import Forward, ForwardLayer, plan_layer
from hpc.spdnn.levels import PANEL_WIDTH, level_rows, panel_shape
from hpc.spdnn.looks import Looks
from hpc.spdnn.merge import Merger, fill_panels
from hpc.spdnn.panels import aligned
from hpc.spdnn.pool import PanelStore, Pool
from hpc.spdnn.runtime import Buffers, Runtime, layer_weights, plan_buffers
from hpc.spdnn.waves import deep_waves, wave_count, wave_spans

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]
Shape = tuple[int, int]
Sink = Callable[[Floats, Ints, Ints], None]
"""Takes own rows of the last level, (panels, n_out, width), samples and each one's column."""


@dataclass
class Wave:
    """Columns under way: at which level, of which shape, in which buffer.

    samples : (m,) their numbers. column : (m,) the column that stands for each.
    """

    level: int
    shape: Shape
    side: int
    samples: Ints
    column: Ints


class MergingPass:
    """Runs batches through a rank's share of a network. Made by all ranks together.

    Parameters
    ----------
    runtime : Runtime
        Its communicator has shard.size ranks.
    shard : Shard
        This rank's share.
    most : int
        Largest batch.
    merger : Merger or None
        Finds equal columns; with it batches are padded to whole panels. Without it every
        column is computed, and none is added unless the inputs are packed.
    pools : bool
        Let survivors of batches wait for each other; else a batch is done when `run` returns.
    sink : callable
        Takes what comes out, see `Sink`.
    packed : bool
        The inputs are bits, and the kernel takes them, by whole panels, so that a sample's bits
        do not depend on the batch it is in.
    waves : int or None
        See `waves.wave_count`; the same on all ranks.

    Attributes
    ----------
    columns : (L,) int64 array
        Columns that went through each layer so far.
    """

    def __init__(
        self,
        runtime: Runtime,
        shard: Shard,
        most: int,
        merger: Merger | None,
        pools: bool,
        sink: Sink,
        packed: bool = False,
        waves: int | None = None,
    ) -> None:
        self._runtime, self._shard, self._most, self._sink = runtime, shard, most, sink
        self._merger, self._pooled = merger, pools and merger is not None
        self._weights = layer_weights(shard)
        self._rows = level_rows(shard)
        self._looks = Looks(len(shard.layers))
        self._whole, self._packed = packed or merger is not None, packed
        self._room = max(most + most // 2 * self._pooled, PANEL_WIDTH if self._whole else 1)
        panels, width = self._shape(self._room)
        if waves is None and runtime.kernel.name == "scipy":
            waves = 1  # the reference keeps to two buffers; its multiply hides messages unaided
        self._waves, self._edges = waves, _edges_of_a_layer(runtime, shard)
        self._most_waves = wave_count(self._waves, shard.size, self._edges, panels * width)
        room = max(self._rows) * panels * width
        self._memory = [aligned(room, shard.dtype) for _ in range(2 + (self._most_waves > 1))]
        self._words = np.zeros(self._rows[0] * -(-self._room // PANEL_WIDTH) * packed, np.uint64)
        self._buffers: dict[Shape, Buffers] = {}
        self._planned: dict[tuple[int, Shape, int, int], list[ForwardLayer]] = {}
        self._passes: dict[tuple[int, int, Shape, int], Forward] = {}
        self._store = PanelStore(max(map(len, shard.ids)), shard.dtype)
        self._pools: dict[int, Pool] = {}
        self.columns = np.zeros(len(shard.layers), np.int64)

    def plan(self, batch: int) -> None:
        """Plan the first layers for a batch size.

        Parameters
        ----------
        batch : int
            Samples, 1..most.
        """
        self._stretch(Wave(0, self._first_shape(batch), 0, *_nothing()), self._next_stop(0))

    def first_level(self, batch: int) -> npt.NDArray[Any]:
        """Return where the own rows of a batch's inputs go: (panels, n_ext, width).

        Columns from `batch` on are padding; they must be zero.

        Parameters
        ----------
        batch : int
            Samples, 1..most.

        Returns
        -------
        (panels, n_ext, width) array
            Of the shard's dtype; where `packed`, words of 64 columns, (panels, n_ext, 1) uint64.
        """
        return self._first_level(self._first_shape(batch))

    def run(self, samples: Ints) -> None:
        """Run the samples that lie in `first_level`. Collective over the ranks of the runtime.

        Parameters
        ----------
        samples : (batch,) int32 array
            Their numbers, handed on to the sink.
        """
        order = np.arange(len(samples), dtype=np.int32)
        self._descend(Wave(0, self._first_shape(len(samples)), 0, samples, order))
        self._looks.end_batch()

    def finish(self) -> None:
        """Run what still waits in pools, the shallowest first. Collective as `run`."""
        while filled := [level for level, pool in self._pools.items() if pool.count]:
            self._run_pool(min(filled))

    @property
    def exchanges(self) -> list[Exchange]:
        """The exchanges, which count words and messages."""
        return [layer.exchange for waves in self._planned.values() for layer in waves]

    def free(self) -> None:
        """Release requests and datatypes, as `Exchange.free` does."""
        for exchange in self.exchanges:
            exchange.free()

    def _descend(self, wave: Wave) -> None:
        n_layers = len(self._shard.layers)
        parked = False
        while wave.level < n_layers and not parked:
            stop = self._next_stop(wave.level)
            level = self._stretch(wave, stop).run()
            self.columns[wave.level : stop] += wave.shape[0] * wave.shape[1]
            wave.side = self._side(wave.side + stop - wave.level)
            wave.level = stop
            if self._merger and stop < n_layers:
                parked = self._merge(self._merger, wave, level)
                self._runtime.clock.lap("merge")
        if not parked:
            self._sink(level[:, : len(self._shard.ids[-1])], wave.samples, wave.column)

    def _merge(self, merger: Merger, wave: Wave, level: Floats) -> bool:
        """Merge equal columns of a wave; return whether what is left waits in a pool."""
        ids = self._shard.ids[wave.level]
        own = level[:, : len(ids)]
        self._runtime.standing.at("looking for equal columns", wave.level, self._runtime.others)
        found = merger.find(own, ids)
        self._looks.saw(found is not None)
        if found is None:
            return False
        if self._pooled and len(found.kept) <= self._most // 2:
            wave.column = found.where[wave.column]
            self._park(merger, wave, own, found.kept)
            return True
        found = fill_panels(found)
        wave.shape, wave.side = self._shape(len(found.kept)), self._side(wave.side + 1)
        merger.gather(own, found.kept, self._level(wave.level, wave.side, wave.shape), 0)
        wave.column = found.where[wave.column]
        return False

    def _park(self, merger: Merger, wave: Wave, own: Floats, kept: Ints) -> None:
        pool = self._pools.setdefault(wave.level, Pool(self._store, own.shape[1]))
        pool.add(wave.samples, wave.column, kept, partial(merger.gather, own))
        self._runtime.clock.lap("merge")
        if pool.count > self._most:
            self._run_pool(wave.level)

    def _run_pool(self, level: int) -> None:
        pool = self._pools[level]
        shape = self._shape(pool.count)
        target = self._level(level, 0, shape)
        pool.copy_to(target)
        samples, column = pool.empty()
        self._descend(Wave(level, shape, 0, samples, column))

    def _side(self, turn: int) -> int:
        return turn % len(self._memory)

    def _waves_of(self, panels: int, width: int) -> int:
        columns = panels * width
        return min(wave_count(self._waves, self._shard.size, self._edges, columns), panels)

    def _next_stop(self, level: int) -> int:
        return self._looks.next_after(level) if self._merger else len(self._shard.layers)

    def _shape(self, columns: int) -> Shape:
        if not self._whole:
            return panel_shape(columns)
        if columns <= PANEL_WIDTH:
            return 1, columns
        return -(-columns // PANEL_WIDTH), PANEL_WIDTH

    def _first_shape(self, batch: int) -> Shape:
        panels, width = self._shape(batch)
        return (panels, PANEL_WIDTH) if self._packed else (panels, width)

    def _first_level(self, shape: Shape) -> npt.NDArray[Any]:
        if not self._packed:
            return self._level(0, 0, shape)
        panels = shape[0]
        return self._words[: panels * self._rows[0]].reshape(panels, self._rows[0], 1)

    def _level(self, level: int, side: int, shape: Shape) -> Floats:
        panels, width = shape
        rows = self._rows[level]
        return self._memory[side][: panels * rows * width].reshape(panels, rows, width)

    def _stretch(self, wave: Wave, stop: int) -> Forward:
        """Return the layers from the wave's level to `stop` as a pass, made when first met."""
        key = wave.level, stop, wave.shape, wave.side
        if key not in self._passes:
            self._passes[key] = self._made(*key)
        return self._passes[key]

    def _made(self, start: int, stop: int, shape: Shape, side: int) -> Forward:
        levels: list[npt.NDArray[Any]] = [
            self._level(k, self._side(side + k - start), shape) for k in range(start, stop + 1)
        ]
        if not start:
            levels[0] = self._first_level(shape)
        panels, width = shape
        deep = self._shard.size == 1 and len({level.shape[1] for level in levels}) == 1
        waves = deep_waves(panels, self._edges, width) if deep else self._waves_of(*shape)
        return Forward(
            [
                self._layer(k, shape, self._side(side + k - start), waves, pair)
                for k, pair in zip(range(start, stop), pairwise(levels), strict=True)
            ],
            levels,
            deep,
        )

    def _layer(
        self, number: int, shape: Shape, side: int, waves: int, levels: tuple[Floats, Floats]
    ) -> list[ForwardLayer]:
        """Return a layer's waves, planned when first met."""
        key = number, shape, side, waves
        if key not in self._planned:
            layer = self._shard.layers[number]
            self._planned[key] = plan_layer(
                self._runtime,
                self._buffers_for(shape),
                number,
                layer,
                self._weights[number],
                layer.bias,
                levels,
                wave_spans(shape[0], waves),
            )
        return self._planned[key]

    def _buffers_for(self, shape: Shape) -> Buffers:
        """Return buffers to share: those of the largest batch wherever batches are padded."""
        largest = self._shape(self._room) if self._whole else shape
        if largest not in self._buffers:
            most = largest[0] if self._shard.size == 1 else min(self._most_waves, largest[0])
            self._buffers[largest] = plan_buffers(self._shard, *largest, self._shard.dtype, most)
        return self._buffers[largest]


def _edges_of_a_layer(runtime: Runtime, shard: Shard) -> float:
    """Return the weights of a layer on a rank, on average over both. Collective."""
    edges = runtime.comm.allreduce(sum(layer.n_edges for layer in shard.layers))
    return float(edges / shard.size / max(len(shard.layers), 1))


def _nothing() -> tuple[Ints, Ints]:
    return np.empty(0, np.int32), np.empty(0, np.int32)
