"""How buffers travel between ranks, whatever memory they lie in: one interface, three ways."""

from __future__ import annotations

from collections.abc import Callable

from mpi4py import MPI

from hpc.comm.links import Link, Receiver, Sender
from hpc.comm.option_values import TRANSPORTS
from hpc.comm.stages import DirectStage, HostStage, PinnedStage, Stage
from hpc.comm.streams import Buffer, Streams
from hpc.comm.waiting import Waiting, Yielding


class Transport:
    """Makes the links of a rank and keeps them moving.

    Parameters
    ----------
    name : one of TRANSPORTS.
    streams : of the device that the buffers lie on; None for host.
    waiting : how to wait.
    """

    def __init__(
        self, name: str = "host", streams: Streams | None = None, waiting: Waiting | None = None
    ) -> None:
        if name not in TRANSPORTS or (name == "host") != (streams is None):
            raise ValueError(f"transport {name!r} with streams {streams!r}")
        self.name = name
        self.waiting: Waiting = waiting or Yielding()
        self._streams = streams
        self._links: list[Link] = []
        self._reducing = self._stage(1)

    def _stage(self, depth: int) -> Stage:
        if self._streams is None:
            return HostStage()
        if self.name == "staged":
            return PinnedStage(self._streams, depth)
        return DirectStage(self._streams)

    def sender(self, comm: MPI.Comm, peer: int, tag: int, depth: int = 2) -> Sender:
        """Return a link to `peer` on which `depth` messages may be under way. Local.

        Parameters
        ----------
        comm : MPI.Comm
            Whose rank `peer` is; nothing is sent until the link is used.
        peer : int
            Rank to send to, which has a receiver of the same tag.
        tag : int
            Of all messages of the link.
        depth : int
            Messages, at least 1.

        Returns
        -------
        Sender
            Moved by `poll` and `wait` of this transport.
        """
        link = Sender(lambda b: comm.Issend(b, peer, tag), self._stage(depth), depth, self.wait)
        self._links.append(link)
        return link

    def receiver(self, comm: MPI.Comm, peer: int, tag: int, depth: int = 2) -> Receiver:
        """Return a link from `peer` on which `depth` receives may be posted. Local.

        Parameters
        ----------
        comm : MPI.Comm
            Whose rank `peer` is; nothing is posted until the link is used.
        peer : int
            Rank to receive from.
        tag : int
            Of all messages of the link.
        depth : int
            Receives, at least 1.

        Returns
        -------
        Receiver
            Moved by `poll` and `wait` of this transport.
        """
        link = Receiver(lambda b: comm.Irecv(b, peer, tag), self._stage(depth), depth, self.wait)
        self._links.append(link)
        return link

    def poll(self) -> None:
        """Move whatever can move, on all links."""
        for link in self._links:
            link.poll()

    def wait(self, done: Callable[[], bool]) -> None:
        """Wait until `done()`, moving all links: a peer may need what lies on another one.

        Parameters
        ----------
        done : callable
            Asked after each move; returns a bool.
        """

        def polled() -> bool:
            self.poll()
            return done()

        self.waiting.until(polled)

    def all_reduce(self, comm: MPI.Comm, buffer: Buffer) -> None:
        """Sum `buffer` over `comm`, in place. Collective.

        Parameters
        ----------
        comm : MPI.Comm
            Of the ranks that sum.
        buffer : array or tensor
            Contiguous, of one shape and dtype on all ranks, in memory of this transport's kind.
        """
        message, ready = self._reducing.outgoing(buffer)
        self.wait(ready.done)
        self.waiting.all_reduce(comm, message)
        self._reducing.landed(buffer)

    def finish(self) -> None:
        """Wait until every message sent has left."""
        for link in self._links:
            if isinstance(link, Sender):
                link.finish()

    def abandon(self) -> None:
        """Withdraw all receives that are posted: nothing more will come."""
        for link in self._links:
            if isinstance(link, Receiver):
                link.abandon()
