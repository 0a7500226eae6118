"""How far apart the ranks' clocks are, by ping: so that traces of several hosts line up."""

from __future__ import annotations

from time import perf_counter

import numpy as np
from mpi4py import MPI

from hpc.comm.tags import Tag

PINGS = 20
"""The quickest of so many counts: it was disturbed the least."""


def offset_s(comm: MPI.Comm) -> float:
    """Return what to add to this rank's `perf_counter` to get rank 0's. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks whose clocks are compared.

    Returns
    -------
    float
        Seconds: 0 on rank 0's host, whose ranks share a clock; else off by at most half of the
        quickest round trip.
    """
    hosts = comm.allgather(MPI.Get_processor_name())
    if comm.rank == 0:
        for peer in range(1, comm.size):
            if hosts[peer] != hosts[0]:
                _answer(comm, peer)
    if hosts[comm.rank] == hosts[0]:
        return 0.0
    offset, _ = min((_ask(comm) for _ in range(PINGS)), key=lambda pair: pair[1])
    return offset


def _answer(comm: MPI.Comm, peer: int) -> None:
    ping, now = np.empty(0), np.empty(1)
    for _ in range(PINGS):
        comm.Recv(ping, peer, Tag.CLOCK)
        now[0] = perf_counter()
        comm.Send(now, peer, Tag.CLOCK)


def _ask(comm: MPI.Comm) -> tuple[float, float]:
    """Return the offset by one ping and how long that took."""
    theirs = np.empty(1)
    before = perf_counter()
    comm.Send(np.empty(0), 0, Tag.CLOCK)
    comm.Recv(theirs, 0, Tag.CLOCK)
    after = perf_counter()
    return float(theirs[0]) - (before + after) / 2, after - before
