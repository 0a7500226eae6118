"""Write a network in rank order, in bounded memory: one pass over it per group of ranks."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np

from hpc.io.halo import Longs
from hpc.io.network import Layer, NetworkFile, NetworkHeader
from hpc.io.plan import Plan
from hpc.io.shard import Shard, build_shards
from hpc.io.sharded import write_sharded

BUDGET_BYTES = 1 << 30
"""What the shards of a group of ranks may take in memory; a layer comes on top."""
ROW_BYTES = 12
"""A weight at most adds a row and a row pointer to the part that it is in ..."""
PART_BYTES = 1 << 10
"""... and a part costs its Python objects."""


def shard_network(
    network: NetworkFile,
    plan: Plan,
    path: str | os.PathLike[str],
    groups: list[range],
    on_layer: Callable[[], None] = lambda: None,
) -> None:
    """Write the sharded file of a network that `plan` cuts.

    Parameters
    ----------
    network : open network file.
    plan : its cut.
    path : file to write.
    groups : from `rank_groups`: the ranks whose shards are in memory together.
    on_layer : called after each layer of each pass, len(groups) · L times.

    Raises
    ------
    InputError : a plan of another network, an unwritable path.
    """

    def layers() -> Iterator[Layer]:
        for layer in network.layers():
            yield layer
            on_layer()

    def shards() -> Iterator[Shard]:
        for group in groups:
            yield from build_shards(layers(), plan, group)

    write_sharded(path, network.header, plan, shards())


def rank_groups(header: NetworkHeader, plan: Plan, budget_bytes: int = BUDGET_BYTES) -> list[range]:
    """Cut the ranks into consecutive groups whose shards fit a budget together. Pure.

    A single shard above the budget makes a group of its own.

    Parameters
    ----------
    header : of the network.
    plan : its cut.
    budget_bytes : of memory.

    Returns
    -------
    Ranges of ranks.
    """
    groups: list[range] = []
    start, taken = 0, 0
    for rank, n_bytes in enumerate(_shard_bytes(header, plan).tolist()):
        if rank > start and taken + n_bytes > budget_bytes:
            groups.append(range(start, rank))
            start, taken = rank, 0
        taken += n_bytes
    return [*groups, range(start, plan.parts)]


def _shard_bytes(header: NetworkHeader, plan: Plan) -> Longs:
    """Return at most how much memory each rank's shard takes, (P,) bytes."""
    weight_bytes = header.dtype.itemsize + np.dtype(np.int32).itemsize + ROW_BYTES
    if plan.traffic is None:
        edges = np.full(plan.parts, -(-header.n_edges // plan.parts))
        peers = np.full(plan.parts, header.n_layers * (plan.parts - 1))
    else:
        edges, peers = plan.traffic.edges.sum(axis=0), plan.traffic.messages.sum(axis=0)
    return edges * weight_bytes + peers * PART_BYTES
