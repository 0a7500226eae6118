"""What every layer of a pass shares: communicator, kernel, clock and reused buffers."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.exchange import SendRing
from hpc.comm.standing import Standing
from hpc.io.shard import LayerShard, Shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.kernels import Kernel, Weights
from hpc.spdnn.wires import n_send

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Runtime:
    """The rank's communicator, its kernel and the clock that books its time.

    standing : told where the rank is.
    """

    comm: MPI.Comm
    kernel: Kernel
    clock: Stopwatch
    standing: Standing = field(default_factory=Standing)

    def others(self) -> list[int]:
        """Return the other ranks of the communicator.

        Returns
        -------
        list of int
            Ascending; empty on a single rank.
        """
        return [rank for rank in range(self.comm.size) if rank != self.comm.rank]


@dataclass(frozen=True)
class Buffers:
    """Buffers that the layers of a pass use one after another.

    boundaries : rows gathered for sending (forward) or received (backward), in turn; one ring
        for each wave.
    early : flat, room for the largest part's product, for messages that come out of order.
    scratch : flat, room for two panels of any part.
    """

    boundaries: tuple[SendRing, ...]
    early: Floats
    scratch: Floats

    @property
    def boundary(self) -> SendRing:
        """The ring of the first wave."""
        return self.boundaries[0]


def plan_buffers(
    shard: Shard, panels: int, width: int, dtype: npt.DTypeLike, waves: int = 1
) -> Buffers:
    """Return buffers, written once, large enough for every layer of `shard` in `waves` waves.

    Parameters
    ----------
    shard : Shard
        This rank's share.
    panels, width : int
        Of the batch.
    dtype : dtype-like
        Of the levels.
    waves : int
        Each gets a ring of its own.

    Returns
    -------
    Buffers
        Zeros.
    """
    batch = panels * width
    widest = max(map(n_send, shard.layers)) * batch
    return Buffers(
        tuple(SendRing(widest, dtype) for _ in range(waves)),
        np.full(max(map(_early_rows, shard.layers)) * batch, 0, dtype),
        np.full(2 * max(map(_widest, shard.layers)) * width, 0, dtype),
    )


def layer_weights(shard: Shard) -> list[list[Weights]]:
    """Return per layer the kernel's view of the weights: [core, parts ...]; data is shared.

    Parameters
    ----------
    shard : Shard
        This rank's share.

    Returns
    -------
    list of list of Weights
        Each with at least the core part.

    Raises
    ------
    InputError : see `Weights`.
    """
    return [[Weights(part) for part in (layer.core, *layer.parts)] for layer in shard.layers]


def _early_rows(layer: LayerShard) -> int:
    """Return the rows of the largest part; with fewer than two none can come early."""
    return max(len(part.rows) for part in layer.parts) if len(layer.parts) > 1 else 0


def _widest(layer: LayerShard) -> int:
    return max(layer.n_in, layer.n_out, *(len(rows) for _, rows in layer.sends), 0)
