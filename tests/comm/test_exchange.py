"""A planned exchange puts each message into its rows, again and again, and counts what ran."""

import numpy as np
import pytest

from hpc.comm.exchange import Exchange, Segment, SendRing
from hpc.comm.tags import Tag

pytestmark = pytest.mark.mpi
ROWS, BLOCK = 12, 3


def value(source, dest, step):
    return 100.0 * source + 10.0 * dest + step


@pytest.mark.parametrize(("panels", "width"), [(1, 1), (1, 7), (4, 16)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_everybody_to_everybody(comm, panels, width, dtype):
    others = [rank for rank in range(comm.size) if rank != comm.rank]
    out = np.zeros((panels, BLOCK * comm.size, width), dtype)
    into = np.full((panels, BLOCK * comm.size + 1, width), -1, dtype)
    exchange = Exchange(
        comm,
        Tag.FORWARD,
        [Segment(to, out, BLOCK * to, BLOCK * to + BLOCK) for to in others],
        [Segment(source, into, BLOCK * source, BLOCK * source + BLOCK) for source in others],
    )
    for step in range(4):
        for to in others:
            out[:, BLOCK * to : BLOCK * to + BLOCK] = value(comm.rank, to, step)
        exchange.start_receives()
        exchange.start_sends()
        if step % 2:
            exchange.poll()
        arrived = list(exchange.arrivals())
        exchange.finish_sends()
        assert sorted(arrived) == list(range(len(others)))
        for source in others:
            rows = into[:, BLOCK * source : BLOCK * source + BLOCK]
            assert (rows == value(source, comm.rank, step)).all()
        assert (into[:, BLOCK * comm.rank : BLOCK * comm.rank + BLOCK] == -1).all()
        assert (into[:, -1] == -1).all()
    words = 4 * len(others) * panels * BLOCK * width
    assert exchange.words_sent == exchange.words_received == words
    assert exchange.messages_sent == 4 * len(others)
    exchange.free()


def test_arrivals_come_in_the_order_of_arrival(comm):
    """Rank 0 hears from the last rank first, although that one is its last source."""
    if comm.size < 3:
        return
    buffer = np.zeros((1, comm.size, 2))
    sources = list(range(1, comm.size))
    if comm.rank == 0:
        segments = [Segment(source, buffer, source, source + 1) for source in sources]
        exchange = Exchange(comm, Tag.FORWARD, [], segments)
        exchange.start_receives()
        order = []
        for index in exchange.arrivals():
            order.append(sources[index])
            if len(order) < len(sources):
                comm.send(None, dest=sources[len(sources) - 1 - len(order)], tag=99)
        assert order == sources[::-1]
    else:
        exchange = Exchange(comm, Tag.FORWARD, [Segment(0, buffer, 0, 1)], [])
        if comm.rank != comm.size - 1:
            comm.recv(source=0, tag=99)
        exchange.start_sends()
    exchange.free()


def test_no_partner_is_no_message(comm):
    exchange = Exchange(comm, Tag.BACKWARD, [], [])
    exchange.start_receives()
    exchange.start_sends()
    exchange.poll()
    assert list(exchange.arrivals()) == []
    exchange.free()


def test_a_ring_waits_for_the_last_user_of_a_buffer(comm):
    ring = SendRing(24, np.float32, depth=2)
    first, third = ring.buffer(0, (1, 4, 6)), ring.buffer(2, (2, 3, 4))
    assert np.shares_memory(first, third)
    assert not np.shares_memory(first, ring.buffer(1, (1, 4, 6)))

    class Recorder:
        waited = 0

        def finish_sends(self):
            self.waited += 1

    users = [Recorder() for _ in range(3)]
    for turn, user in enumerate(users):
        ring.take(turn, user)
    assert [user.waited for user in users] == [1, 0, 0]
