"""A device whose streams move only when the test says so, and an MPI whose messages do likewise."""

from __future__ import annotations

import numpy as np


class FakeEvent:
    def __init__(self, stream, position):
        self.stream, self.position = stream, position

    def done(self):
        return len(self.stream.over) > self.position


class FakeStream:
    """Work in a queue: (what, function, event that it waits for)."""

    def __init__(self):
        self.queued, self.over = [], []

    def put(self, what, work=None, after=None):
        self.queued.append((what, work, after))
        return FakeEvent(self, len(self.over) + len(self.queued) - 1)

    def advance(self):
        """Run whatever may run; return whether anything did."""
        ran = False
        while self.queued and (self.queued[0][2] is None or self.queued[0][2].done()):
            what, work, _ = self.queued.pop(0)
            if work is not None:
                work()
            self.over.append(what)
            ran = True
        return ran


class FakeStreams:
    """hpc.comm.streams.Streams on numpy arrays; nothing runs before `advance`."""

    def __init__(self):
        self.main, self.side, self.slots = FakeStream(), FakeStream(), []

    def mark(self):
        return self.main.put("mark")

    def pinned(self, n_bytes):
        self.slots.append(np.zeros(n_bytes, np.uint8))
        return self.slots[-1]

    def view(self, slot, like):
        return slot[: like.nbytes].view(like.dtype).reshape(like.shape)

    def copy_aside(self, target, source, after):
        after = after if isinstance(after, FakeEvent) else None
        return self.side.put("copy", lambda: np.copyto(target, source), after)

    def main_waits(self, event):
        self.main.put("wait", after=event)

    def compute(self, work):
        """Queue arithmetic on the main stream."""
        return self.main.put("compute", work)

    def advance(self):
        while self.main.advance() or self.side.advance():
            pass


class FakeRequest:
    def __init__(self):
        self.complete = False

    def Test(self):
        return self.complete


class FakeComm:
    """Remembers what was started; `deliver` completes a message as MPI would."""

    def __init__(self):
        self.sends, self.receives = [], []

    def Issend(self, buffer, peer, tag):
        return self._start(self.sends, buffer)

    def Irecv(self, buffer, peer, tag):
        return self._start(self.receives, buffer)

    def _start(self, messages, buffer):
        messages.append((buffer, FakeRequest()))
        return messages[-1][1]

    def Allreduce(self, in_place, buffer):
        buffer *= 2

    def leave(self, index):
        """Complete a send; return what was in its buffer."""
        buffer, request = self.sends[index]
        request.complete = True
        return buffer.copy()

    def deliver(self, index, value):
        """Complete a receive of `value`."""
        buffer, request = self.receives[index]
        buffer[...] = value
        request.complete = True


class Impatient:
    """A waiting that gives the device a moment, then gives up: what it waits for never comes."""

    def __init__(self, streams=None, tries=20):
        self.streams, self.tries = streams, tries

    def until(self, done):
        for _ in range(self.tries):
            if done():
                return
            if self.streams is not None:
                self.streams.advance()
        raise TimeoutError

    def all_reduce(self, comm, message):
        comm.Allreduce(None, message)
