"""Whether a share is that of the rank that runs it."""

from __future__ import annotations

from hpc.comm.replicas import Replicas
from hpc.io.errors import InputError
from hpc.io.shard import Shard


def check_place(shard: Shard, replicas: Replicas) -> None:
    """Raise InputError unless `shard` is the share of this rank in its replica's group.

    Parameters
    ----------
    shard : Shard
        Of which its size and its rank count.
    replicas : Replicas
        The groups that run.

    Raises
    ------
    InputError : it is of another rank, or cut for another number of ranks.
    """
    group = replicas.group
    if (shard.size, shard.rank) != (group.size, group.rank):
        raise InputError(
            f"shard {shard.rank} of {shard.size}, on rank {group.rank} of a group of {group.size}; "
            f"{replicas.world.size} ranks run {replicas.count} replica(s)"
        )
