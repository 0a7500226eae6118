"""Order, events and rings of the transports, on a device and an MPI that move by hand."""

from __future__ import annotations

import numpy as np
import pytest

from hpc.comm.buffers import Transport
from hpc.comm.links import Sender
from tests.comm.fake_device import FakeComm, FakeStreams, Impatient

DEVICE = ("staged", "cuda-aware")


def numbers(*values):
    return np.array(values, np.float64)


@pytest.fixture(params=DEVICE)
def device(request):
    streams, comm = FakeStreams(), FakeComm()
    return Transport(request.param, streams, Impatient()), streams, comm


def test_host_sends_and_receives_the_buffers_themselves():
    comm, transport = FakeComm(), Transport("host", waiting=Impatient())
    sent, target = numbers(1, 2), numbers(0, 0)
    transport.sender(comm, 1, 3).send(sent)
    receiver = transport.receiver(comm, 1, 3)
    receiver.post(target)
    assert comm.sends[0][0] is sent
    assert comm.receives[0][0] is target
    assert not receiver.arrived()
    comm.deliver(0, 5)
    assert receiver.arrived()
    assert receiver.take() is target
    assert target.tolist() == [5, 5]


def test_a_send_begins_only_when_what_produces_it_is_done(device):
    transport, streams, comm = device
    x = numbers(0, 0)
    streams.compute(lambda: x.__setitem__(slice(None), 7))
    transport.sender(comm, 1, 3).send(x)
    assert not comm.sends
    transport.poll()
    assert not comm.sends
    streams.advance()
    transport.poll()
    assert len(comm.sends) == 1
    assert comm.leave(0).tolist() == [7, 7]


def test_a_staged_send_leaves_the_device_free_to_go_on():
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport("staged", streams, Impatient())
    x = numbers(1, 2)
    transport.sender(comm, 1, 3).send(x)
    later = streams.compute(lambda: None)
    streams.main.advance()
    assert later.done()  # the main stream does not wait for the copy
    assert streams.side.over == []


def test_sends_start_in_their_order(device):
    transport, streams, comm = device
    sender = transport.sender(comm, 1, 3)
    sender.send(numbers(1))
    sender.send(numbers(2))
    streams.advance()
    transport.poll()
    assert [comm.leave(i).tolist() for i in range(2)] == [[1], [2]]


def test_as_many_sends_are_under_way_as_the_link_is_deep(device):
    transport, streams, comm = device
    sender = transport.sender(comm, 1, 3, depth=2)
    for value in (1, 2):
        sender.send(numbers(value))
        streams.advance()
    with pytest.raises(TimeoutError):
        sender.send(numbers(3))
    comm.leave(0)
    sender.send(numbers(3))
    streams.advance()
    transport.poll()
    assert comm.sends[2][0].tolist() == [3]
    assert len(sender) == 2


def test_a_slot_of_the_ring_is_not_written_before_its_message_has_left():
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport("staged", streams, Impatient(streams))
    sender = transport.sender(comm, 1, 3, depth=2)
    for value in (1, 2):
        sender.send(numbers(value))
    streams.advance()
    transport.poll()
    assert len(streams.slots) == 2
    first = comm.leave(0)
    sender.send(numbers(3))
    streams.advance()
    assert first.tolist() == [1]
    assert comm.sends[1][0].tolist() == [2]  # still under way, untouched
    assert len(streams.slots) == 2  # the third message took the slot of the first


def test_finish_waits_for_everything_sent(device):
    transport, streams, comm = device
    transport.sender(comm, 1, 3).send(numbers(1))
    with pytest.raises(TimeoutError):
        transport.finish()
    streams.advance()
    transport.poll()
    comm.leave(0)
    transport.finish()


def test_a_receive_into_device_memory_begins_when_its_earlier_users_are_done():
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport("cuda-aware", streams, Impatient())
    streams.compute(lambda: None)
    transport.receiver(comm, 1, 3).post(numbers(0))
    assert not comm.receives
    streams.advance()
    transport.poll()
    assert len(comm.receives) == 1


def test_a_staged_receive_begins_at_once_and_its_copy_waits_for_the_earlier_users():
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport("staged", streams, Impatient())
    target, seen = numbers(4), []
    streams.compute(lambda: seen.append(target[0]))
    receiver = transport.receiver(comm, 1, 3)
    receiver.post(target)
    comm.deliver(0, 9)
    assert receiver.take() is target
    streams.side.advance()
    assert target[0] == 4  # its user of the step before has not run
    streams.compute(lambda: seen.append(target[0]))
    streams.advance()
    assert seen == [4, 9]


def test_later_work_waits_for_the_staged_copy():
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport("staged", streams, Impatient())
    receiver = transport.receiver(comm, 1, 3)
    receiver.post(numbers(4))
    comm.deliver(0, 9)
    receiver.take()
    user = streams.compute(lambda: None)
    streams.main.advance()
    assert not user.done()
    streams.advance()
    assert user.done()


def test_a_receiving_slot_is_posted_again_only_when_its_copy_is_done():
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport("staged", streams, Impatient())
    receiver = transport.receiver(comm, 1, 3, depth=1)
    targets = numbers(0), numbers(0)
    receiver.post(targets[0])
    comm.deliver(0, 1)
    receiver.take()
    receiver.post(targets[1])
    transport.poll()
    assert len(comm.receives) == 1
    streams.advance()
    transport.poll()
    comm.deliver(1, 2)
    receiver.take()
    streams.advance()
    assert [t.tolist() for t in targets] == [[1], [2]]


def test_messages_of_different_sizes_share_a_ring():
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport("staged", streams, Impatient(streams))
    sender = transport.sender(comm, 1, 3, depth=1)
    for index, values in enumerate([(1,), (2, 3, 4), (5, 6)]):
        sender.send(numbers(*values))
        streams.advance()
        transport.poll()
        assert comm.leave(index).tolist() == list(values)


def test_more_receives_than_the_link_is_deep_and_none_at_all_are_our_own_errors():
    transport = Transport("host", waiting=Impatient())
    receiver = transport.receiver(FakeComm(), 1, 3, depth=1)
    with pytest.raises(RuntimeError, match="no receive"):
        receiver.take()
    receiver.post(numbers(0))
    with pytest.raises(RuntimeError, match="1 receives posted already"):
        receiver.post(numbers(0))


def test_waiting_on_one_link_moves_the_others(device):
    transport, streams, comm = device
    transport.waiting = Impatient(streams)
    receiver = transport.receiver(comm, 2, 3)
    receiver.post(numbers(0))
    transport.sender(comm, 1, 3).send(numbers(1))
    assert not comm.sends
    with pytest.raises(TimeoutError):
        receiver.take()
    assert len(comm.sends) == 1


@pytest.mark.parametrize("name", DEVICE)
def test_all_reduce_takes_what_was_queued_before_and_serves_what_comes_after(name):
    streams, comm = FakeStreams(), FakeComm()
    transport = Transport(name, streams, Impatient(streams))
    x, seen = numbers(0, 0), []
    for value in (3, 4):
        streams.compute(lambda value=value: x.__setitem__(slice(None), value))
        transport.all_reduce(comm, x)
        streams.compute(lambda: seen.append(x.tolist()))
    streams.advance()
    assert seen == [[6, 6], [8, 8]]


@pytest.mark.parametrize(("name", "streams"), [("host", FakeStreams()), ("staged", None), ("x", 1)])
def test_transport_and_device_must_fit(name, streams):
    with pytest.raises(ValueError, match="transport"):
        Transport(name, streams)


class Flag:
    def __init__(self):
        self.over = False

    def done(self):
        return self.over


class FlagStage:
    """Messages become ready when the test says so, in any order."""

    def __init__(self):
        self.flags = []

    def outgoing(self, buffer):
        self.flags.append(Flag())
        return buffer, self.flags[-1]


def test_a_later_message_that_is_ready_first_waits_for_its_turn():
    comm, stage = FakeComm(), FlagStage()
    sender = Sender(lambda b: comm.Issend(b, 1, 3), stage, 2, lambda done: done())
    for value in (1, 2):
        sender.send(numbers(value))
    stage.flags[1].over = True
    sender.poll()
    assert not comm.sends
    stage.flags[0].over = True
    sender.poll()
    assert [buffer.tolist() for buffer, _ in comm.sends] == [[1], [2]]
