"""The paper's minibatch gradient: one vector, averaged over the batch, is propagated back.

It approximates: f' is taken at the averaged x, and the mean of δ xᵀ by the product of the
means (paper, its section on batches).
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI

from hpc.comm.planned_sums import PlannedSums
from hpc.spdnn.backward import Backward
from hpc.spdnn.training_pass import TrainingPass


class AveragedGradient:
    """Fills a backward pass of one column with the means over a minibatch.

    Parameters
    ----------
    single : the pass for one column.
    peers : the replicas that share the minibatch, or None. Each then has the means over all of
        it, and so the whole gradient.
    """

    def __init__(self, single: TrainingPass, peers: MPI.Comm | None) -> None:
        self._backward = single.planned_backward()
        self._levels, self._delta = single.forward.levels, self._backward.delta
        self._sums = PlannedSums(peers, [*self._levels, self._delta])

    def fill(self, current: TrainingPass | None, weight: float) -> Backward:
        """Return the backward pass with the means in place. Collective over the replicas.

        Parameters
        ----------
        current : TrainingPass or None
            Of this replica's samples, with δ^L of the minibatch's mean loss in `slope`; None where
            it has no sample.
        weight : float
            Share of the minibatch that these samples are, in [0, 1].

        Returns
        -------
        Backward
            The pass of one column, the same at every call.
        """
        if current is None:
            for level in (*self._levels, self._delta):
                level[...] = 0
        else:
            for mean, level in zip(self._levels, current.forward.levels, strict=True):
                np.mean(level, axis=(0, 2), out=mean[0, :, 0])
                mean *= weight
            np.sum(current.slope, axis=(0, 2), out=self._delta[0, :, 0])
        for index in range(len(self._levels) + 1):
            self._sums.start(index)
        for _ in self._sums.rest():
            pass
        return self._backward

    def free(self) -> None:
        """Release the requests. Local."""
        self._sums.free()
