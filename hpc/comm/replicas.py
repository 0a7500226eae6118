"""Ranks split into replicas: groups of consecutive ranks that each hold the whole of something."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from mpi4py import MPI

from hpc.comm.world import AgreedError, agree, together
from hpc.io.errors import InputError
from hpc.io.ownership import owned_range


def group_size(ranks: int, replicas: int) -> int:
    """Return the ranks of each of `replicas` groups. Pure.

    Parameters
    ----------
    ranks : int
        In all.
    replicas : int
        Groups, from 1; a divisor of `ranks`.

    Returns
    -------
    int
        ranks / replicas.

    Raises
    ------
    InputError : fewer than one replica; ranks that cannot be dealt out evenly.
    """
    if replicas < 1:
        raise InputError(f"--replicas {replicas}: expected at least 1")
    if ranks % replicas:
        raise InputError(
            f"--replicas {replicas}: {ranks} ranks cannot be split into {replicas} equal groups; "
            f"expected a divisor of {ranks}"
        )
    return ranks // replicas


@dataclass(frozen=True)
class Replicas:
    """A rank's place among the replicas.

    world : all ranks. group : the ranks of this rank's replica, consecutive in `world`.
    peers : the ranks with this rank's number in their groups, which hold the same share;
        a rank's number in it is that of its replica.
    """

    world: MPI.Comm
    group: MPI.Comm
    peers: MPI.Comm

    @property
    def count(self) -> int:
        """How many replicas there are."""
        return int(self.peers.size)

    @property
    def number(self) -> int:
        """The replica of this rank, from 0."""
        return int(self.peers.rank)

    def share(self, n: int, replica: int | None = None) -> tuple[int, int]:
        """Return the half-open range of n things that a replica takes.

        Parameters
        ----------
        n : int
            Things, which all replicas take in consecutive blocks.
        replica : int or None
            From 0; None: that of this rank.

        Returns
        -------
        (int, int)
            First, and one past the last; see `owned_range`.
        """
        return owned_range(n, self.count, self.number if replica is None else replica)

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Run a block whose errors the ranks of a group agree on; all ranks raise, or none does.

        The block may be collective over `group`, never over more. Collective over `world`.

        Raises
        ------
        AgreedError : on all ranks, where the block raised it on those of any group.
        """
        error: AgreedError | None = None
        try:
            yield
        except AgreedError as found:
            error = found
        agree(self.world, error)


@contextlib.contextmanager
def replica_groups(comm: MPI.Comm, replicas: int) -> Iterator[Replicas]:
    """Split the ranks of `comm` into groups of equal size; free the groups at the end. Collective.

    They are not freed when an exception passes: peers may never reach the collective free.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks; used as it is for `world`.
    replicas : int
        Groups, the same on all ranks.

    Yields
    ------
    Replicas
        This rank's place; `group` and `peers` last as long as the block.

    Raises
    ------
    AgreedError : on all ranks, see `group_size`.
    """
    with together(comm):
        size = group_size(comm.size, replicas)
    group = comm.Split(comm.rank // size, comm.rank)
    peers = comm.Split(comm.rank % size, comm.rank)
    yield Replicas(comm, group, peers)
    peers.Free()
    group.Free()
