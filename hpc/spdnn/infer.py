"""Inference: every sample of a file through the cut network."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.io.samples import SamplesFile, open_samples
from hpc.io.shard import Shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.counters import Counted, count
from hpc.spdnn.forward import Forward
from hpc.spdnn.inputs import check_inputs
from hpc.spdnn.kernels import Kernel
from hpc.spdnn.kernels import kernel as default_kernel
from hpc.spdnn.levels import columns, set_columns, turning_levels
from hpc.spdnn.runtime import Runtime, layer_weights

Floats = npt.NDArray[np.floating]
Progress = Callable[[int, str], None]
ScoreSink = Callable[[int, Floats], None]
"""Takes the first sample's number (0-based) and the last level's values, (batch, n_L)."""


@dataclass
class Inference:
    """What inference gives.

    categories : 1-based numbers of the samples whose last level has a non-zero entry,
        ascending, (m,) int64; on every rank.
    seconds : wall time of the passes without reading the file, the slowest rank's.
    clock : this rank's seconds: compute, wait, pack, read.
    counted : what ran over MPI, summed over the ranks.
    """

    categories: npt.NDArray[np.int64]
    n_samples: int
    seconds: float
    clock: Stopwatch = field(repr=False)
    counted: Counted


def infer(
    comm: MPI.Comm,
    shard: Shard,
    x: str | os.PathLike[str],
    *,
    batch: int = 256,
    scores: ScoreSink | None = None,
    kernel: Kernel | None = None,
    progress: Progress = lambda steps, note: None,
) -> Inference:
    """Run all samples of file `x` through the network that `shard` is a share of. Collective.

    Parameters
    ----------
    comm : communicator of shard.size ranks; this rank's share is `shard` (`load_shard`).
    batch : samples at a time, at least 1.
    scores : given on all ranks or on none; called on rank 0 with each batch's last level.

    Raises
    ------
    AgreedError : on all ranks, for inputs of another width, a batch below 1, a bad file.
    """
    with together(comm):
        if batch < 1:
            raise InputError(f"batch {batch}: expected at least 1")
        if shard.size != comm.size:
            raise InputError(f"shard for {shard.size} ranks, the communicator has {comm.size}")
        with open_samples(x) as samples:
            check_inputs(samples, shard)
    with open_samples(x) as samples:
        return _Run(comm, shard, samples, batch, kernel or default_kernel()).all(scores, progress)


class _Run:
    """One inference run: forward passes by batch size, flags and scores."""

    def __init__(
        self, comm: MPI.Comm, shard: Shard, samples: SamplesFile, batch: int, kernel: Kernel
    ) -> None:
        self._comm, self._shard, self._samples = comm, shard, samples
        self._n = samples.header.n_samples
        self._batch = min(batch, self._n)
        self._runtime = Runtime(comm, kernel, Stopwatch())
        self._passes: dict[int, Forward] = {}

    def all(self, scores: ScoreSink | None, progress: Progress) -> Inference:
        alive = np.zeros(self._n, np.uint8)
        clock = self._runtime.clock
        for size in {self._batch, self._n % self._batch} - {0}:
            self._passes[size] = self._plan(size)
        self._comm.Barrier()
        clock.restart()
        for start in range(0, self._n, self._batch):
            stop = min(start + self._batch, self._n)
            last = self._pass(start, stop)
            alive[start:stop] = last.any(axis=1).reshape(-1)
            clock.lap("compute")
            if scores:
                self._gather(start, last, scores)
            progress(stop - start, "")
        self._comm.Allreduce(MPI.IN_PLACE, alive, op=MPI.MAX)
        clock.lap("wait")
        return self._result(alive)

    def _plan(self, size: int) -> Forward:
        shard = self._shard
        biases = [layer.bias for layer in shard.layers]
        levels = turning_levels(shard, size, shard.dtype)
        return Forward(self._runtime, shard, layer_weights(shard), biases, levels)

    def _pass(self, start: int, stop: int) -> Floats:
        clock, forward = self._runtime.clock, self._passes[stop - start]
        with together(self._comm):
            raw = self._samples.own(start, stop, self._shard.ids[0])
            clock.lap("read")
            x = self._samples.decode(raw, start, stop, self._shard.dtype)
        set_columns(forward.levels[0], x)
        clock.lap("pack")
        return forward.run()

    def _gather(self, start: int, last: Floats, scores: ScoreSink) -> None:
        """Bring a batch's last level to rank 0 and hand it to `scores`."""
        gathered = self._comm.gather((self._shard.ids[-1], columns(last)))
        self._runtime.clock.lap("wait")
        if gathered is not None:
            whole = np.empty((last.shape[0] * last.shape[2], self._shard.sizes[-1]), last.dtype)
            for ids, rows in gathered:
                whole[:, ids] = rows.T
            scores(start, whole)
            self._runtime.clock.lap("read")

    def _result(self, alive: npt.NDArray[np.uint8]) -> Inference:
        clock = self._runtime.clock
        mine = clock.total("compute", "pack", "wait")
        seconds = self._comm.allreduce(mine, op=MPI.MAX)
        exchanges = [e for forward in self._passes.values() for e in forward.exchanges]
        counted = count(self._comm, exchanges)
        for forward in self._passes.values():
            forward.free()
        return Inference(
            np.flatnonzero(alive).astype(np.int64) + 1,
            self._n,
            seconds,
            clock,
            counted,
        )
