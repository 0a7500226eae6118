"""The last level of every sample, brought to rank 0 in the order of the samples."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hpc.comm.replicas import Replicas
from hpc.comm.tags import Tag
from hpc.io.shard import Shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.levels import columns

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]
ScoreSink = Callable[[int, Floats], None]
"""Takes the first sample's number (0-based) and the last level's values, (batch, n_L)."""


class Scores:
    """Hands the last level to a sink on rank 0, one batch of one replica at a time.

    The ranks of a group send their rows to its first rank, these their batches to rank 0,
    which takes one after another: it never holds more than two.

    Parameters
    ----------
    ranks : Replicas
        All ranks of the run.
    shard : Shard
        This rank's share.
    sink : callable
        Called on rank 0 only, see `ScoreSink`.
    clock : Stopwatch
        Books 'wait' for messages, 'read' for the sink.
    """

    def __init__(self, ranks: Replicas, shard: Shard, sink: ScoreSink, clock: Stopwatch) -> None:
        self._ranks, self._shard, self._sink, self._clock = ranks, shard, sink, clock

    def take(self, last: Floats, column: Ints, spans: list[tuple[int, int]]) -> None:
        """Hand over a round. Collective over the replicas that have samples in it.

        Parameters
        ----------
        last : (panels, n_out, width) array
            Own rows of the last level.
        column : (batch,) int32 array
            Where each sample of this replica is in it.
        spans : list of tuples of int
            (start, stop) of the samples of every replica in the round.
        """
        whole = self._whole(last, column)
        self._clock.lap("wait")
        if whole is None:
            return
        if self._ranks.number:
            self._ranks.peers.Send(whole, 0, Tag.OUTPUT)
            self._clock.lap("wait")
            return
        self._sink(spans[0][0], whole)
        for replica, (start, stop) in enumerate(spans[1:], 1):
            if start < stop:
                received = np.empty((stop - start, whole.shape[1]), whole.dtype)
                self._ranks.peers.Recv(received, replica, Tag.OUTPUT)
                self._sink(start, received)
        self._clock.lap("read")

    def _whole(self, last: Floats, column: Ints) -> Floats | None:
        """Return the replica's batch, (batch, n_L), on the first rank of the group."""
        gathered = self._ranks.group.gather((self._shard.ids[-1], columns(last)))
        if gathered is None:
            return None
        whole = np.empty((len(column), self._shard.sizes[-1]), last.dtype)
        for ids, rows in gathered:
            whole[:, ids] = rows.T[column]
        return whole
