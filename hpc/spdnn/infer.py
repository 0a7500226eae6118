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
from hpc.spdnn.inputs import check_inputs
from hpc.spdnn.kernels import Kernel
from hpc.spdnn.kernels import kernel as default_kernel
from hpc.spdnn.levels import columns, set_columns
from hpc.spdnn.merge import Merger
from hpc.spdnn.merging_pass import MergingPass
from hpc.spdnn.runtime import Runtime

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]
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
    columns : (L,) columns that went through each layer; with equal columns merged, fewer than
        the samples. What is counted is the plan's volume of each layer times its columns.
    """

    categories: npt.NDArray[np.int64]
    n_samples: int
    seconds: float
    clock: Stopwatch = field(repr=False)
    counted: Counted
    columns: npt.NDArray[np.int64]


def infer(
    comm: MPI.Comm,
    shard: Shard,
    x: str | os.PathLike[str],
    *,
    batch: int = 256,
    scores: ScoreSink | None = None,
    kernel: Kernel | None = None,
    merge: bool = True,
    progress: Progress = lambda steps, note: None,
) -> Inference:
    """Run all samples of file `x` through the network that `shard` is a share of. Collective.

    Parameters
    ----------
    comm : communicator of shard.size ranks; this rank's share is `shard` (`load_shard`).
    batch : samples at a time, at least 1.
    merge : compute columns that are equal on every rank once; changes no bit of the answer
        (numba kernel).
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
        run = _Run(comm, shard, samples, batch, kernel or default_kernel(), merge, scores)
        return run.all(progress)


def equal_columns(comm: MPI.Comm, shard: Shard, kernel: Kernel) -> Merger | None:
    """Return what merges equal columns, where the kernel is a compiled one."""
    if kernel.name != "numba":
        return None
    from hpc.spdnn.equal_columns import EqualColumns

    return EqualColumns(comm, shard.dtype)


class _Run:
    """One inference run: batches, flags and scores."""

    def __init__(
        self,
        comm: MPI.Comm,
        shard: Shard,
        samples: SamplesFile,
        batch: int,
        kernel: Kernel,
        merge: bool,
        scores: ScoreSink | None,
    ) -> None:
        self._comm, self._shard, self._samples = comm, shard, samples
        self._n = samples.header.n_samples
        self._batch = min(batch, self._n)
        self._runtime = Runtime(comm, kernel, Stopwatch())
        self._alive = np.zeros(self._n, np.uint8)
        self._scores = scores
        merger = equal_columns(comm, shard, kernel) if merge else None
        self._pass = MergingPass(
            self._runtime,
            shard,
            self._batch,
            merger,
            scores is None,
            self._take,
            packed=samples.header.packed and kernel.name == "numba",
        )

    def all(self, progress: Progress) -> Inference:
        clock = self._runtime.clock
        for size in {self._batch, self._n % self._batch} - {0}:
            self._pass.plan(size)
        self._comm.Barrier()
        clock.restart()
        for start in range(0, self._n, self._batch):
            stop = min(start + self._batch, self._n)
            self._fill(start, stop)
            self._pass.run(np.arange(start, stop, dtype=np.int32))
            progress(stop - start, "")
        self._pass.finish()
        self._comm.Allreduce(MPI.IN_PLACE, self._alive, op=MPI.MAX)
        clock.lap("wait")
        return self._result()

    def _fill(self, start: int, stop: int) -> None:
        """Put the inputs of samples start..stop-1 in place."""
        clock = self._runtime.clock
        with together(self._comm):
            raw = self._samples.own(start, stop, self._shard.ids[0])
            clock.lap("read")
        level = self._pass.first_level(stop - start)
        if level.dtype == np.uint64:
            from hpc.spdnn.bits_sum import fill_words

            fill_words(raw, start % 8, stop - start, level)
        else:
            set_columns(level, self._samples.decode(raw, start, stop, self._shard.dtype))
        clock.lap("pack")

    def _take(self, last: Floats, samples: Ints, column: Ints) -> None:
        """Note which samples are alive in the last level, (panels, n_out, width)."""
        self._alive[samples] = last.any(axis=1).reshape(-1)[column]
        self._runtime.clock.lap("compute")
        if self._scores:
            self._gather(last, int(samples[0]), column, self._scores)

    def _gather(self, last: Floats, start: int, column: Ints, scores: ScoreSink) -> None:
        """Bring a batch's last level to rank 0 and hand it to `scores`."""
        gathered = self._comm.gather((self._shard.ids[-1], columns(last)))
        self._runtime.clock.lap("wait")
        if gathered is not None:
            whole = np.empty((len(column), self._shard.sizes[-1]), last.dtype)
            for ids, rows in gathered:
                whole[:, ids] = rows.T[column]
            scores(start, whole)
            self._runtime.clock.lap("read")

    def _result(self) -> Inference:
        clock = self._runtime.clock
        mine = clock.total("compute", "pack", "wait", "merge")
        seconds = self._comm.allreduce(mine, op=MPI.MAX)
        counted = count(self._comm, self._pass.exchanges)
        self._pass.free()
        return Inference(
            np.flatnonzero(self._alive).astype(np.int64) + 1,
            self._n,
            seconds,
            clock,
            counted,
            self._pass.columns,
        )
