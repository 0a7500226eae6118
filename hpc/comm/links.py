"""Messages to or from one peer, in order, as many at a time as the link is deep."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mpi4py import MPI

from hpc.comm.stages import Stage
from hpc.comm.streams import Buffer, Event


@dataclass
class _Transfer:
    """buffer : the caller's, kept alive. message : what MPI gets, once `ready` is over."""

    buffer: Buffer
    message: Buffer
    ready: Event
    request: MPI.Request | None = None

    def over(self) -> bool:
        """Return whether it has completed; gives MPI a moment to move it."""
        return self.request is not None and bool(self.request.Test())


class Link:
    """The transfers under way, oldest first.

    Parameters
    ----------
    start : callable
        Issend, which ends only when the receive is posted, or Irecv, bound to peer and tag.
    stage : Stage
        What lies between the buffers and MPI; of this link alone.
    depth : int
        Transfers that may be under way, at least 1.
    wait : callable
        `Transport.wait`, which moves all links.
    """

    def __init__(
        self,
        start: Callable[[Buffer], MPI.Request],
        stage: Stage,
        depth: int,
        wait: Callable[[Callable[[], bool]], None],
    ) -> None:
        self._start, self._stage, self._depth, self._wait = start, stage, depth, wait
        self._queue: deque[_Transfer] = deque()

    def __len__(self) -> int:
        """Return how many transfers are under way."""
        return len(self._queue)

    def poll(self) -> None:
        """Start what has become ready; never out of order, since messages match by order."""
        for transfer in self._queue:
            if transfer.request is None:
                if not transfer.ready.done():
                    return
                transfer.request = self._start(transfer.message)

    def _add(self, buffer: Buffer, message: Buffer, ready: Event) -> None:
        self._queue.append(_Transfer(buffer, message, ready))
        self.poll()


class Sender(Link):
    """Sends to one peer."""

    def send(self, buffer: Buffer) -> None:
        """Send `buffer` once its content is there; nobody writes to it until it has left.

        Waits while `depth` earlier messages are under way.

        Parameters
        ----------
        buffer : array or tensor
            Contiguous; kept alive until it has left.
        """
        self._wait(self._has_room)
        self._add(buffer, *self._stage.outgoing(buffer))

    def poll(self) -> None:
        """Start what has become ready and let go of what has left."""
        super().poll()
        while self._queue and self._queue[0].over():
            self._queue.popleft()

    def _has_room(self) -> bool:
        return len(self._queue) < self._depth

    def finish(self) -> None:
        """Wait until everything has left."""
        self._wait(lambda: not self._queue)


class Receiver(Link):
    """Receives from one peer into buffers that are posted ahead."""

    def post(self, buffer: Buffer) -> None:
        """Receive the next message into `buffer` when its earlier users are done.

        Parameters
        ----------
        buffer : array or tensor
            Contiguous, no smaller than the message; kept alive until it is taken.

        Raises
        ------
        RuntimeError : `depth` receives are posted and not yet taken.
        """
        if len(self._queue) == self._depth:
            raise RuntimeError(f"{self._depth} receives posted already; take one first")
        self._add(buffer, *self._stage.landing(buffer))

    def poll(self) -> None:
        """Start what has become ready and give MPI a moment to receive."""
        super().poll()
        self.arrived()

    def arrived(self) -> bool:
        """Return whether the oldest message posted is there.

        Returns
        -------
        bool
            False also where none is posted.
        """
        return bool(self._queue) and self._queue[0].over()

    def abandon(self) -> None:
        """Receive nothing more: what was posted and will not come is withdrawn."""
        while self._queue:
            request = self._queue.popleft().request
            if request is not None:
                request.Cancel()
                request.Wait()

    def take(self) -> Any:
        """Wait for the oldest message posted and return its buffer, valid on the main stream.

        Returns
        -------
        array or tensor
            The buffer that was posted.

        Raises
        ------
        RuntimeError : no receive is posted.
        """
        if not self._queue:
            raise RuntimeError("no receive is posted")
        self._wait(self.arrived)
        buffer = self._queue.popleft().buffer
        self._stage.landed(buffer)
        return buffer
