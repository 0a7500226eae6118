"""The host transport between real ranks, under every way of waiting."""

from __future__ import annotations

import numpy as np
import pytest

from hpc.comm.buffers import Transport
from hpc.comm.tags import Tag
from hpc.comm.waiting import Sleeping, Yielding

SIZES = (1, 1000, 300_000)
"""Floats a message: sent at once, buffered, and only when the receiver is there."""


@pytest.fixture(params=[Yielding, Sleeping])
def transport(request):
    return Transport("host", waiting=request.param())


@pytest.mark.mpi
def test_a_ring_of_messages_arrives_whole_and_in_order(comm, transport):
    peers = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    sender = transport.sender(comm, peers[0], Tag.RELAY, depth=2)
    receiver = transport.receiver(comm, peers[1], Tag.RELAY, depth=len(SIZES))
    targets = [np.zeros(size, np.float32) for size in SIZES]
    for target in targets:
        receiver.post(target)
    for size in SIZES:
        sender.send(np.arange(size, dtype=np.float32) + comm.rank)
    for size, target in zip(SIZES, targets, strict=True):
        assert receiver.take() is target
        np.testing.assert_array_equal(target, np.arange(size, dtype=np.float32) + peers[1])
    transport.finish()
    assert not len(sender)


@pytest.mark.mpi
def test_all_reduce_is_the_sum(comm, transport):
    x = np.arange(5.0) * (comm.rank + 1)
    transport.all_reduce(comm, x)
    total = comm.size * (comm.size + 1) / 2
    np.testing.assert_allclose(x, np.arange(5.0) * total, rtol=1e-12)
