"""The relay between real ranks: any split meets any split, in fixed buffers, in a bounded queue."""

from __future__ import annotations

import pytest
import torch

from hpc.comm.buffers import Transport
from hpc.comm.rank_order_sum import SMALL_BYTES
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.program import Boundary
from hpc.pipebd.relay import Inlet, Outlet, neighbours
from hpc.pipebd.schedule import Group
from hpc.pipebd.shares import batch_shares

BATCH = 11
SMALL, LARGE = (2,), (3, 2000)
"""Shapes of a sample: sent in an envelope, and only when the receiver is there."""


def whole(number, shape, n_samples=BATCH):
    """Return batch `number`: every value says which it is."""
    count = n_samples * torch.Size(shape).numel()
    return (torch.arange(count, dtype=torch.float64) + 1000 * number).reshape(n_samples, *shape)


def chains(size):
    """Return the cuts of `size` ranks into groups."""
    found = {1: [], 2: [(1, 1)], 3: [(1, 2), (2, 1), (1, 1, 1)], 4: [(1, 3), (3, 1), (2, 2)]}
    return found[size]


def connect(comm, transport, sizes, shape, queue):
    """Return this rank's share, inlet and outlet."""
    starts = [sum(sizes[:index]) for index in range(len(sizes))]
    groups = [
        Group(range(i, i + 1), range(start, start + size))
        for i, (start, size) in enumerate(zip(starts, sizes, strict=True))
    ]
    index = next(i for i, group in enumerate(groups) if comm.rank in group.ranks)
    before, after = neighbours(groups, index)
    group, boundary = groups[index], Boundary(shape, torch.float64)
    share = slice(*batch_shares(BATCH, group.size)[comm.rank - group.ranks.start])
    inlet = before and Inlet(comm, transport, before, group, BATCH, boundary, queue)
    outlet = after and Outlet(comm, transport, group, after, BATCH)
    return share, inlet, outlet


@pytest.mark.mpi
@pytest.mark.parametrize("queue", [1, 2, 3])
@pytest.mark.parametrize("shape", [SMALL, LARGE], ids=["small", "large"])
def test_batches_arrive_whole_in_order_and_in_few_buffers(comm, shape, queue):
    for sizes in chains(comm.size):
        transport, mine = Transport(), comm.Dup()
        share, inlet, outlet = connect(mine, transport, sizes, shape, queue)
        addresses = set()
        if inlet:
            inlet.expect(7)
        for number in range(7):
            x = whole(number, shape)[share]
            if inlet:
                arrived = inlet.take()
                addresses.add(arrived.data_ptr())
                assert torch.equal(arrived, x)
            if outlet:
                outlet.send(arrived.clone() if inlet else x)
            if inlet:
                inlet.release()
        transport.finish()
        assert len(addresses) <= queue
        mine.Free()


@pytest.mark.mpi
def test_a_short_last_batch(comm):
    """Of which some ranks get nothing."""
    for sizes in chains(comm.size):
        for n_samples in (1, 4, 10):
            transport, mine = Transport(), comm.Dup()
            share, inlet, outlet = connect(mine, transport, sizes, SMALL, 2)
            x = whole(0, SMALL, n_samples)[share]
            if inlet:
                inlet.expect(1)
                arrived = inlet.take()[: len(x)].clone()
                assert torch.equal(arrived, x)
                inlet.release()
            if outlet:
                outlet.send(x)
            transport.finish()
            mine.Free()


@pytest.mark.mpi
@pytest.mark.parametrize("queue", [1, 2])
def test_a_sender_gets_no_further_ahead_than_the_queue(comm, queue):
    """Even with messages that MPI would take off the sender's hands at once."""
    if comm.size != 2:
        return
    transport = Transport()
    share, inlet, outlet = connect(comm, transport, (1, 1), SMALL, queue)
    if comm.rank == 0:
        for number in range(queue + 1):
            outlet.send(whole(number, SMALL)[share])
        for _ in range(2000):
            transport.poll()
        stuck = [len(link) for link, _ in outlet._links]
        comm.Barrier()
        transport.finish()
        assert stuck == [1], "one more than there are buffers cannot leave"
    else:
        inlet.expect(queue + 1)
        comm.Barrier()
        for number in range(queue + 1):
            assert torch.equal(inlet.take(), whole(number, SMALL)[share])
            inlet.release()


@pytest.mark.mpi
@pytest.mark.parametrize("n_bytes", [8, SMALL_BYTES, SMALL_BYTES + 8 * 13])
def test_sums_are_in_rank_order_and_the_same_bits_on_all_ranks(comm, n_bytes):
    n = n_bytes // 8
    terms = [10.0 ** (3 * rank) * torch.randn(n, generator=torch.manual_seed(rank)).double() / 3
             for rank in range(comm.size)]  # fmt: skip
    expected = terms[0].clone()
    for term in terms[1:]:
        expected += term
    x = terms[comm.rank].clone()
    reducer = reducer_of(comm, Transport())
    assert (reducer.rank, reducer.size) == (comm.rank, comm.size)
    assert reducer.sum(x) is x
    assert torch.equal(x, expected)
