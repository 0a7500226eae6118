"""What lies between a caller's buffer and the memory that MPI sends from and receives into.

host         the buffer itself, in host memory
staged       pinned host memory, copied to and from the device on the side stream
cuda-aware   the buffer itself, on the device: MPI takes its pointer
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from hpc.comm.streams import PASSED, Buffer, Event, Streams


class Stage(Protocol):
    """Prepares the messages of one link, in their order."""

    def outgoing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Return what MPI sends for `buffer`, and when it may begin.

        Parameters
        ----------
        buffer : array or tensor
            The caller's, written by what is queued on the main stream.

        Returns
        -------
        message : array or tensor
            In memory that MPI takes.
        ready : Event
            Its content is there when this is over.
        """
        ...

    def landing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Return where MPI receives what is meant for `buffer`, and when it may begin.

        Whatever uses the buffer's earlier content is queued already.

        Parameters
        ----------
        buffer : array or tensor
            The caller's.

        Returns
        -------
        message : array or tensor
            In memory that MPI takes.
        ready : Event
            It may be written when this is over.
        """
        ...

    def landed(self, buffer: Buffer) -> None:
        """Make the oldest message that landed visible in `buffer` to the main stream.

        Parameters
        ----------
        buffer : array or tensor
            The one that `landing` was given for it.
        """
        ...


class HostStage:
    """Host memory: nothing to do."""

    def outgoing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Return the buffer, now.

        Parameters
        ----------
        buffer : array or tensor
            In host memory.

        Returns
        -------
        (buffer, Event)
            The same buffer, and an event that is over.
        """
        return buffer, PASSED

    def landing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Return the buffer, now.

        Parameters
        ----------
        buffer : array or tensor
            In host memory.

        Returns
        -------
        (buffer, Event)
            The same buffer, and an event that is over.
        """
        return buffer, PASSED

    def landed(self, buffer: Buffer) -> None:
        """Do nothing.

        Parameters
        ----------
        buffer : array or tensor
            Not looked at.
        """


class DirectStage:
    """Device memory that MPI accesses by itself, outside all streams.

    Parameters
    ----------
    streams : Streams
        Of the device on which the buffers lie.
    """

    def __init__(self, streams: Streams) -> None:
        self._streams = streams

    def outgoing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Return the buffer, when what produces it is done.

        Parameters
        ----------
        buffer : array or tensor
            In device memory.

        Returns
        -------
        (buffer, Event)
            The same buffer, and the end of what is on the main stream now.
        """
        return buffer, self._streams.mark()

    def landing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Return the buffer, when its earlier users are done.

        Parameters
        ----------
        buffer : array or tensor
            In device memory.

        Returns
        -------
        (buffer, Event)
            The same buffer, and the end of what is on the main stream now.
        """
        return buffer, self._streams.mark()

    def landed(self, buffer: Buffer) -> None:
        """Do nothing: MPI has completed the receive before.

        Parameters
        ----------
        buffer : array or tensor
            Not looked at.
        """


@dataclass
class _Slot:
    """memory : pinned. free : when it may be written again. target_free : see `landing`."""

    memory: Buffer = None
    free: Event = PASSED
    target_free: Event = PASSED


class PinnedStage:
    """A ring of pinned host buffers.

    Parameters
    ----------
    streams : Streams
        Of the device on which the buffers lie.
    depth : int
        Buffers; of the messages under way at most so many are staged here. A link lets go of
        message i before it prepares message i + depth.
    """

    def __init__(self, streams: Streams, depth: int) -> None:
        self._streams = streams
        self._slots = [_Slot() for _ in range(depth)]
        self._prepared = self._landed = 0

    def outgoing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Queue the copy to the host; return the copy, when it is done.

        Parameters
        ----------
        buffer : array or tensor
            In device memory.

        Returns
        -------
        (buffer, Event)
            A view of pinned memory, and the end of the copy to it.
        """
        slot = self._take(buffer)
        view = self._streams.view(slot.memory, buffer)
        return view, self._streams.copy_aside(view, buffer, self._streams.mark())

    def landing(self, buffer: Buffer) -> tuple[Buffer, Event]:
        """Return pinned memory, when the copy of what it held last is done.

        Parameters
        ----------
        buffer : array or tensor
            In device memory.

        Returns
        -------
        (buffer, Event)
            A view of pinned memory of the buffer's size, and the end of the last copy from it.
        """
        slot = self._take(buffer)
        slot.target_free = self._streams.mark()
        return self._streams.view(slot.memory, buffer), slot.free

    def landed(self, buffer: Buffer) -> None:
        """Queue the copy to the device, after the buffer's earlier users; main waits for it.

        Parameters
        ----------
        buffer : array or tensor
            The one that `landing` was given for the oldest message not yet landed.
        """
        slot = self._slots[self._landed % len(self._slots)]
        self._landed += 1
        view = self._streams.view(slot.memory, buffer)
        slot.free = self._streams.copy_aside(buffer, view, slot.target_free)
        self._streams.main_waits(slot.free)

    def _take(self, buffer: Buffer) -> _Slot:
        slot = self._slots[self._prepared % len(self._slots)]
        self._prepared += 1
        if slot.memory is None or slot.memory.nbytes < buffer.nbytes:
            slot.memory = self._streams.pinned(buffer.nbytes)
        return slot
