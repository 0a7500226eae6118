"""What passing numbers between ranks takes: reductions over a group, relays. Collective."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from functools import partial

import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.comm.one_way import one_way_s
from hpc.comm.tags import Tag
from hpc.pipebd.block_timing import WARM_UP, Reduction, now


def time_reductions(
    comm: MPI.Comm,
    transport: Transport,
    blocks: Sequence[Sequence[Reduction]],
    device: torch.device,
    steps: int,
) -> dict[int, tuple[float, ...]]:
    """Return for each group size 2..N the median seconds of every block's reductions in a step.

    The same on all ranks: of the slowest rank of ranks 0..d-1. Empty on one rank. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    transport : Transport
        Of this rank.
    blocks : sequence of sequence of Reduction
        By block; the same on all ranks.
    device : torch.device
        Where the numbers lie.
    steps : int
        That count, after `WARM_UP` others.

    Returns
    -------
    dict of int to tuple of float
        (B,) seconds by group size.
    """
    found = {}
    for size in range(2, comm.size + 1):
        group = comm.Split(comm.rank < size, comm.rank)
        times = [0.0] * len(blocks)
        if comm.rank < size:
            for block, reductions in enumerate(blocks):
                buffers = [torch.zeros(r.n, dtype=r.dtype, device=device) for r in reductions]
                times[block] = _time_sums(group, transport, buffers, device, steps)
        group.Free()
        found[size] = tuple(comm.allreduce(one, op=MPI.MAX) for one in times)
    return found


def _time_sums(
    group: MPI.Comm,
    transport: Transport,
    buffers: Sequence[torch.Tensor],
    device: torch.device,
    steps: int,
) -> float:
    laps = []
    for _ in range(WARM_UP + steps):
        group.Barrier()
        begin = now(device)
        for buffer in buffers:
            transport.all_reduce(group, buffer)
        laps.append(now(device) - begin)
    return statistics.median(laps[WARM_UP:])


def time_relays(
    comm: MPI.Comm,
    transport: Transport,
    outputs: Sequence[tuple[tuple[int, ...], torch.dtype]],
    device: torch.device,
    steps: int,
) -> tuple[float, ...]:
    """Return the median seconds of passing each output, of a whole batch, from a rank to the next.

    Half a round trip between ranks 0 and 1; the same on all ranks. 0 on one rank. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    transport : Transport
        Of this rank.
    outputs : sequence of (shape, dtype)
        Shape, samples included, and dtype of each; the same on all ranks.
    device : torch.device
        Where the numbers lie.
    steps : int
        That count, after `WARM_UP` others.

    Returns
    -------
    tuple of float
        Seconds, one an output.
    """
    times = [0.0] * len(outputs)
    if comm.size > 1 and comm.rank < 2:
        sender = transport.sender(comm, 1 - comm.rank, Tag.RELAY)
        receiver = transport.receiver(comm, 1 - comm.rank, Tag.RELAY)
        for place, (shape, dtype) in enumerate(outputs):
            # Zeros that nobody has written lie all in one page of memory, and look twice as fast.
            buffers = [torch.ones(shape, dtype=dtype, device=device) for _ in range(2)]
            times[place] = one_way_s(
                comm.rank == 0, sender, receiver, buffers, partial(now, device), WARM_UP, steps
            )
        transport.finish()
    result: tuple[float, ...] = comm.bcast(tuple(times))
    return result
