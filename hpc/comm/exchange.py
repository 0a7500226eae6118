"""A planned exchange of rows: persistent requests on fixed buffers, nothing allocated when run.

A buffer is a C-ordered (panels, rows, width) array. A message is a range of
its rows in every panel; one MPI datatype describes the range in one panel, so
it is sent from and received into its place without packing by us.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from mpi4py.util.dtlib import from_numpy_dtype

Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Segment:
    """Rows start..stop-1 of every panel of `buffer`, sent to or received from `peer`.

    buffer : (panels, rows, width), C-contiguous.
    """

    peer: int
    buffer: Floats
    start: int
    stop: int

    @property
    def words(self) -> int:
        """Numbers in the message."""
        panels, _, width = self.buffer.shape
        return panels * (self.stop - self.start) * width


class Exchange:
    """Messages between fixed buffers that run again and again.

    Parameters
    ----------
    comm : MPI.Comm
        Of all peers; used as it is, not duplicated.
    tag : int
        Of all messages of this exchange.
    sends, receives : sequence of Segment
        What goes out and what comes in. Messages between two ranks are matched by their order,
        so both sides must start their exchanges in the same order.
    columns : int
        Activations in one number of a buffer: words of bits hold 64.

    Attributes
    ----------
    words_sent, messages_sent : counted when a send starts.
    words_received : counted by MPI's status when a receive completes.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        tag: int,
        sends: Sequence[Segment],
        receives: Sequence[Segment],
        columns: int = 1,
    ) -> None:
        self._columns = columns
        self.words_sent = self.messages_sent = self.words_received = 0
        self._sends, self._receives = list(sends), list(receives)
        self._types: list[MPI.Datatype] = []
        self._send_requests = [
            comm.Send_init(self._message(segment), segment.peer, tag) for segment in sends
        ]
        self._receive_requests = [
            comm.Recv_init(self._message(segment), segment.peer, tag) for segment in receives
        ]
        self._element = from_numpy_dtype(receives[0].buffer.dtype) if receives else MPI.BYTE
        self._status = MPI.Status()
        self._statuses = [MPI.Status() for _ in receives]
        self._arrived: list[int] = []

    def _message(self, segment: Segment) -> list[Any]:
        panels, rows, width = segment.buffer.shape
        element = from_numpy_dtype(segment.buffer.dtype)
        stretch = element.Create_contiguous((segment.stop - segment.start) * width)
        panel = stretch.Create_resized(0, rows * width * segment.buffer.itemsize).Commit()
        stretch.Free()
        self._types.append(panel)
        flat = segment.buffer.reshape(-1)[segment.start * width :]
        return [flat, panels, panel]

    def start_receives(self) -> None:
        """Post every receive."""
        self._arrived.clear()
        if self._receive_requests:
            MPI.Prequest.Startall(self._receive_requests)

    def start_sends(self) -> None:
        """Start every send; the buffers stay untouched until `finish_sends`."""
        for index in range(len(self._sends)):
            self.start_send(index)

    def start_send(self, index: int) -> None:
        """Start one send; its buffer stays untouched until `finish_sends`.

        Parameters
        ----------
        index : int
            Into `sends`.
        """
        self._send_requests[index].Start()
        self.words_sent += self._sends[index].words * self._columns
        self.messages_sent += 1

    def poll(self) -> None:
        """Give MPI a moment to move messages; remember which have arrived."""
        if self._receive_requests:
            found = MPI.Request.Testsome(self._receive_requests, self._statuses)
            for place, index in enumerate(found or ()):
                self._note(index, self._statuses[place])
        elif self._send_requests:
            MPI.Request.Testall(self._send_requests)

    def arrivals(self) -> Iterator[int]:
        """Yield the indices of `receives` in the order in which their messages arrive."""
        done = 0
        while done < len(self._receive_requests):
            if done == len(self._arrived):
                index = MPI.Request.Waitany(self._receive_requests, self._status)
                self._note(index, self._status)
            yield self._arrived[done]
            done += 1

    def _note(self, index: int, status: MPI.Status) -> None:
        self._arrived.append(index)
        self.words_received += status.Get_elements(self._element) * self._columns

    def awaited(self) -> list[int]:
        """Return the peers whose messages have not been seen to arrive. Any thread may ask.

        Returns
        -------
        list of int
            Ranks of `comm`, in the order of `receives`; a peer of several once for each.
        """
        return [s.peer for i, s in enumerate(self._receives) if i not in self._arrived]

    def receivers(self) -> list[int]:
        """Return the peers that are sent to.

        Returns
        -------
        list of int
            Ranks of `comm`, in the order of `sends`.
        """
        return [segment.peer for segment in self._sends]

    def finish_sends(self) -> None:
        """Wait until every started send has left its buffer."""
        if self._send_requests:
            MPI.Request.Waitall(self._send_requests)

    def free(self) -> None:
        """Release requests and datatypes, when every started send has left its buffer.

        No collective, but it waits for a peer that has yet to receive.
        """
        self.finish_sends()
        for request in self._send_requests + self._receive_requests:
            request.Free()
        for datatype in self._types:
            datatype.Free()
        self._types.clear()
        self._send_requests.clear()
        self._receive_requests.clear()


class SendRing:
    """Send buffers used in turn: a buffer is taken again only when its last sends have left.

    Parameters
    ----------
    size : int
        Numbers in each buffer.
    dtype : dtype
        Of these numbers.
    depth : int
        How many buffers, at least 1.
    """

    def __init__(self, size: int, dtype: npt.DTypeLike, depth: int = 2) -> None:
        self._buffers = [np.full(size, 0, dtype) for _ in range(depth)]
        self._users: list[Exchange | None] = [None] * depth

    def buffer(
        self, turn: int, shape: tuple[int, int, int], dtype: npt.DTypeLike | None = None
    ) -> Floats:
        """Return the buffer of exchange number `turn` as an array.

        Parameters
        ----------
        turn : int
            From 0; turns `depth` apart have the same buffer.
        shape : tuple of int
            (panels, rows, width) with at most as many bytes as the buffer.
        dtype : dtype or None
            To see the same bytes as; None: the ring's own.

        Returns
        -------
        (panels, rows, width) array
            A view of the beginning of the buffer.
        """
        flat = self._buffers[turn % len(self._buffers)]
        if dtype is not None and dtype != flat.dtype:
            room = flat.nbytes // np.dtype(dtype).itemsize * np.dtype(dtype).itemsize
            flat = flat.view(np.uint8)[:room].view(dtype)
        return flat[: int(np.prod(shape))].reshape(shape)

    def receivers(self, turn: int) -> list[int]:
        """Return for whom `take` may wait: those who are sent the buffer's last content.

        Parameters
        ----------
        turn : int
            As `buffer`'s.

        Returns
        -------
        list of int
            Ranks of the exchange that has used it last; none before the first.
        """
        last = self._users[turn % len(self._users)]
        return last.receivers() if last is not None else []

    def take(self, turn: int, user: Exchange) -> None:
        """Wait until the buffer of `turn` may be written; `user` sends from it next.

        Parameters
        ----------
        turn : int
            As `buffer`'s.
        user : Exchange
            Whose `finish_sends` the next to take the buffer waits for.
        """
        slot = turn % len(self._buffers)
        last = self._users[slot]
        if last is not None:
            last.finish_sends()
        self._users[slot] = user
