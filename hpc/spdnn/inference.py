"""Inference: every sample of a file, or of an array, through the cut network.

Samples are taken in rounds of one batch a replica, in order, so that replicas finish
together and scores come out in order in bounded memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.replicas import Replicas, replica_groups
from hpc.comm.standing import Standing
from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.io.sample_arrays import Data, SampleArrays, samples_of
from hpc.io.samples import SamplesFile
from hpc.io.shard import Shard
from hpc.report.gauges import Gauges
from hpc.report.meter import DONE_BEFORE
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.counters import Counted, count
from hpc.spdnn.inputs import check_inputs
from hpc.spdnn.kernels import Kernel
from hpc.spdnn.kernels import kernel as default_kernel
from hpc.spdnn.levels import set_columns
from hpc.spdnn.merge import Merger
from hpc.spdnn.merging_pass import MergingPass
from hpc.spdnn.placing import check_place
from hpc.spdnn.runtime import Runtime
from hpc.spdnn.scores import Scores, ScoreSink
from hpc.spdnn.waves import check_waves

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]
Progress = Callable[[int, str], None]


@dataclass
class Inference:
    """What inference gives.

    categories : 1-based numbers of the samples whose last level has a non-zero entry,
        ascending, (m,) int64; on every rank.
    seconds : wall time of the passes without reading the file, the slowest rank's.
    clock : this rank's seconds: compute, wait, pack, read.
    counted : what ran over MPI, summed over the ranks of all replicas.
    passes : batches, of all replicas.
    columns : (L,) columns that went through each layer, of all replicas; with equal columns
        merged, fewer than the samples. Batches of bits fill whole panels of 64. What is counted
        is the plan's volume of each layer times its columns.
    """

    categories: npt.NDArray[np.int64]
    n_samples: int
    seconds: float
    clock: Stopwatch = field(repr=False)
    counted: Counted
    passes: int
    columns: npt.NDArray[np.int64]


def infer(
    comm: MPI.Comm,
    shard: Shard,
    x: Data,
    *,
    batch: int = 256,
    scores: ScoreSink | None = None,
    kernel: Kernel | None = None,
    merge: bool = True,
    replicas: int = 1,
    waves: int | None = None,
    progress: Progress = lambda steps, note: None,
    standing: Standing | None = None,
    gauges: Gauges | None = None,
) -> Inference:
    """Run all samples of `x` through the network that `shard` is a share of. Collective.

    Parameters
    ----------
    comm : communicator of replicas · shard.size ranks.
    shard : this rank's share (`load_shard`, over its group of `replica_groups`).
    x : samples file, or (n, n_0) array: see `sample_arrays`.
    batch : samples at a time of a replica, at least 1.
    scores : given on all ranks or on none; called on rank 0 with each batch's last level.
    kernel : multiplies; the best there is without.
    merge : compute columns that are equal on every rank once; changes no bit of the answer
        (numba kernel).
    replicas : how many groups of consecutive ranks share the samples, each with the whole
        network; one with nothing to do is idle. Changes no bit of the answer of a group's ranks.
    waves : into how many waves the panels of a batch are divided; None: chosen here. Changes
        no bit of the answer.
    progress : told of samples that are done.
    standing : told where this rank is, for a watchdog.
    gauges : set, for who watches the run.

    Returns
    -------
    Categories, seconds and counts.

    Raises
    ------
    AgreedError : on all ranks, for inputs of another width, a batch below 1, a bad file,
        ranks that cannot be split into `replicas` groups.
    """
    with replica_groups(comm, replicas) as ranks:
        with together(comm):
            if batch < 1:
                raise InputError(f"batch {batch}: expected at least 1")
            check_waves(waves)
            check_place(shard, ranks)
            with samples_of(x) as samples:
                check_inputs(samples, shard)
        with samples_of(x) as samples:
            runtime = Runtime(
                ranks.group, kernel or default_kernel(), Stopwatch(), standing or Standing("input")
            )
            if gauges is not None:
                gauges.waited_s = runtime.clock.waited_s
            run = _Run(ranks, shard, samples, batch, runtime, merge, scores, waves)
            return run.all(progress)


def equal_columns(comm: MPI.Comm, shard: Shard, kernel: Kernel) -> Merger | None:
    """Return what merges equal columns, where the kernel is a compiled one.

    Parameters
    ----------
    comm : of the replica.
    shard : this rank's share.
    kernel : that multiplies.

    Returns
    -------
    It; None for the other kernels.
    """
    if kernel.name != "numba":
        return None
    from hpc.spdnn.equal_columns import EqualColumns

    return EqualColumns(comm, shard.dtype)


class _Run:
    """One inference run: batches, flags and scores."""

    def __init__(
        self,
        ranks: Replicas,
        shard: Shard,
        samples: SamplesFile | SampleArrays,
        batch: int,
        runtime: Runtime,
        merge: bool,
        scores: ScoreSink | None,
        waves: int | None,
    ) -> None:
        self._ranks, self._shard, self._samples = ranks, shard, samples
        self._n = samples.header.n_samples
        self._round = min(batch * ranks.count, self._n)
        self._runtime, kernel = runtime, runtime.kernel
        runtime.standing.base = ranks.number * ranks.group.size
        self._alive = np.zeros(self._n, np.uint8)
        self._scores = Scores(ranks, shard, scores, self._runtime.clock) if scores else None
        self._readers = ranks.world if scores else ranks.group  # in step, or each at its pace
        merger = equal_columns(ranks.group, shard, kernel) if merge else None
        self._pass = MergingPass(
            self._runtime,
            shard,
            max(self._size(0), 1),
            merger,
            scores is None,
            self._take,
            packed=samples.header.packed and kernel.name == "numba",
            waves=waves,
        )

    def all(self, progress: Progress) -> Inference:
        clock = self._runtime.clock
        rounds = range(0, self._n, self._round)
        for size in {self._size(start) for start in (rounds[0], rounds[-1])} - {0}:
            self._pass.plan(size)
        self._ranks.world.Barrier()
        clock.restart()
        progress(0, DONE_BEFORE)
        with self._ranks.together():
            for start in rounds:
                self._run_round(start)
                progress(min(self._round, self._n - start), "")
                self._runtime.standing.count(min(self._round, self._n - start))
            self._pass.finish()
            self._runtime.standing.rest()
        self._ranks.world.Allreduce(MPI.IN_PLACE, self._alive, op=MPI.MAX)
        clock.lap("wait")
        return self._result(rounds)

    def _span(self, start: int, replica: int | None = None) -> tuple[int, int]:
        """Return the half-open range of samples of a replica in the round from `start` on."""
        first, stop = self._ranks.share(min(self._round, self._n - start), replica)
        return start + first, start + stop

    def _size(self, start: int) -> int:
        first, stop = self._span(start)
        return stop - first

    def _run_round(self, start: int) -> None:
        first, stop = self._span(start)
        raw = None
        self._runtime.standing.at("reading inputs", awaited="its file, or for others at theirs")
        with together(self._readers):
            if first < stop:
                raw = self._samples.own(first, stop, self._shard.ids[0])
        self._runtime.clock.lap("read")
        if raw is not None:
            self._fill(raw, first, stop)
            self._pass.run(np.arange(first, stop, dtype=np.int32))

    def _fill(self, raw: npt.NDArray[Any], start: int, stop: int) -> None:
        """Put the inputs of samples start..stop-1, as stored, in place."""
        level = self._pass.first_level(stop - start)
        if level.dtype == np.uint64:
            from hpc.spdnn.bits_sum import fill_words

            fill_words(raw, start % 8, stop - start, level)
        else:
            set_columns(level, self._samples.decode(raw, start, stop, self._shard.dtype))
        self._runtime.clock.lap("pack")

    def _take(self, last: Floats, samples: Ints, column: Ints) -> None:
        """Note which samples are alive in the last level, (panels, n_out, width)."""
        self._alive[samples] = last.any(axis=1).reshape(-1)[column]
        self._runtime.clock.lap("compute")
        if self._scores:
            start = int(samples[0]) // self._round * self._round
            spans = [self._span(start, replica) for replica in range(self._ranks.count)]
            self._scores.take(last, column, spans)

    def _result(self, rounds: range) -> Inference:
        ranks, clock = self._ranks, self._runtime.clock
        mine = clock.total("compute", "pack", "wait", "merge")
        seconds = ranks.world.allreduce(mine, op=MPI.MAX)
        counted = count(ranks.world, self._pass.exchanges)
        ran = sum(self._size(start) > 0 for start in rounds)
        passes, columns = ranks.peers.allreduce(ran), self._pass.columns.copy()
        ranks.peers.Allreduce(MPI.IN_PLACE, columns)
        self._pass.free()
        return Inference(
            np.flatnonzero(self._alive).astype(np.int64) + 1,
            self._n,
            seconds,
            clock,
            counted,
            passes,
            columns,
        )
