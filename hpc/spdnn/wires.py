"""A layer's messages as rows of buffers: the same segments serve forward and mirrored. Pure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hpc.comm.exchange import Segment
from hpc.io.shard import LayerShard

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]


def n_send(layer: LayerShard) -> int:
    """Return the rows that the rank sends for a layer, all destinations together.

    Parameters
    ----------
    layer : LayerShard
        This rank's share of a layer.

    Returns
    -------
    int
        A row that goes to several ranks counts for each.
    """
    return sum(len(rows) for _, rows in layer.sends)


def send_rows(layer: LayerShard) -> Ints:
    """Return the own rows to gather into the send buffer, destination after destination.

    Parameters
    ----------
    layer : LayerShard
        This rank's share of a layer.

    Returns
    -------
    (n_send,) int32 array
        Local numbers; the paper's Xsend.
    """
    return np.concatenate([np.empty(0, np.int32), *(rows for _, rows in layer.sends)])


def boundary_segments(layer: LayerShard, buffer: Floats) -> list[Segment]:
    """Return, per destination, its rows of the boundary buffer.

    Parameters
    ----------
    layer : LayerShard
        This rank's share of a layer.
    buffer : (panels, n_send, width) array
        In the order of `send_rows`.

    Returns
    -------
    list of Segment
        Sent from forward, received into backward (the paper's Srecv).
    """
    counts = [len(rows) for _, rows in layer.sends]
    return _segments([peer for peer, _ in layer.sends], counts, buffer, 0)


def halo_segments(layer: LayerShard, x_ext: Floats) -> list[Segment]:
    """Return, per source, its halo rows of a level.

    Parameters
    ----------
    layer : LayerShard
        This rank's share of the layer above.
    x_ext : (panels, n_ext, width) array
        Own rows first, then the halo.

    Returns
    -------
    list of Segment
        Received into forward (the paper's Xrecv), sent from backward (its Ssend).
    """
    counts = [len(ids) for ids in layer.needs]
    return _segments([part.source for part in layer.parts], counts, x_ext, layer.n_in)


def _segments(
    peers: Sequence[int], counts: Sequence[int], buffer: Floats, start: int
) -> list[Segment]:
    bounds = start + np.concatenate(([0], np.cumsum(counts, dtype=np.int64)))
    return [
        Segment(peer, buffer, int(first), int(last))
        for peer, first, last in zip(peers, bounds, bounds[1:], strict=False)
    ]
