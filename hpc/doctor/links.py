"""Messages between pairs of ranks: what they take, by the links that training uses."""

from __future__ import annotations

from itertools import chain, combinations
from time import perf_counter

import numpy as np
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.comm.links import Receiver, Sender
from hpc.comm.one_way import one_way_s
from hpc.comm.tags import Tag
from hpc.comm.waiting import Sleeping
from hpc.doctor.facts import LinkTime

SMALL, LARGE = 8, 1 << 22
"""Bytes of the messages that tell latency and bandwidth."""
WARM_UP, SMALL_REPEATS, LARGE_REPEATS = 5, 100, 10
MOST_PAIRED = 8
"""Up to so many ranks every pair is measured, beyond only neighbours."""

Pair = tuple[int, int]


def rounds(size: int) -> list[list[Pair]]:
    """Return which pairs are measured, round by round; pairs of a round share no rank. Pure.

    Few ranks: every pair by itself. Many: the ring of neighbours, in three rounds.

    Parameters
    ----------
    size : int
        Ranks.

    Returns
    -------
    list of list of (int, int)
        Rounds of pairs, in each the lower rank first.
    """
    if size <= MOST_PAIRED:
        return [[pair] for pair in combinations(range(size), 2)]
    ring = [(rank, rank + 1) for rank in range(size - 1)]
    return [ring[0::2], ring[1::2], [(0, size - 1)]]


def time_links(comm: MPI.Comm) -> list[LinkTime]:
    """Return what messages take between the pairs of `rounds`. Collective.

    Ranks that are not at it sleep, so that they take no core from those that are.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the job.

    Returns
    -------
    list of LinkTime
        By their ranks, on rank 0; empty elsewhere.
    """
    resting, mine = Sleeping(), []
    for pairs in rounds(comm.size):
        resting.until(comm.Ibarrier().Test)
        for low, high in pairs:
            if comm.rank in (low, high):
                mine.append(_time_link(comm, low, high))
    everybody = comm.gather([link for link in mine if link.ranks[0] == comm.rank])
    return sorted(chain.from_iterable(everybody or []), key=lambda link: link.ranks)


def _time_link(comm: MPI.Comm, low: int, high: int) -> LinkTime:
    first, transport = comm.rank == low, Transport()
    peer = high if first else low
    ends = transport.sender(comm, peer, Tag.RELAY), transport.receiver(comm, peer, Tag.RELAY)
    latency = _time(first, *ends, SMALL, SMALL_REPEATS)
    bandwidth = LARGE / _time(first, *ends, LARGE, LARGE_REPEATS)
    transport.finish()
    return LinkTime((low, high), latency, bandwidth)


def _time(first: bool, sender: Sender, receiver: Receiver, n_bytes: int, repeats: int) -> float:
    # Zeros that nobody has written lie all in one page of memory, and look twice as fast.
    buffers = [np.ones(n_bytes, np.uint8) for _ in range(2)]
    return one_way_s(first, sender, receiver, buffers, perf_counter, WARM_UP, repeats)
