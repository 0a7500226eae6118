"""A device's queues of work, as far as moving buffers needs them: no device in sight here.

The main stream is where the caller's arithmetic is queued, the side stream is for copies
alone. `hpc.pipebd.cuda_streams` has those of CUDA; the tests have one that records.
"""

from __future__ import annotations

from typing import Any, Protocol

Buffer = Any
"""Contiguous memory that mpi4py takes (PEP 3118, DLPack or __cuda_array_interface__); `nbytes`."""


class Event(Protocol):
    """A point in a stream."""

    def done(self) -> bool:
        """Return whether the device has passed it, without waiting."""
        ...


class Passed:
    """An event that is over."""

    def done(self) -> bool:
        """Return True.

        Returns
        -------
        bool
            True.
        """
        return True


PASSED = Passed()


class Streams(Protocol):
    """The two streams of a device and its pinned host memory."""

    def mark(self) -> Event:
        """Return an event after all that is queued on the main stream now."""
        ...

    def pinned(self, n_bytes: int) -> Buffer:
        """Return host memory that the device copies to and from by itself.

        Parameters
        ----------
        n_bytes : int
            Bytes.

        Returns
        -------
        array or tensor
            Of at least so many bytes.
        """
        ...

    def view(self, slot: Buffer, like: Buffer) -> Buffer:
        """Return the beginning of pinned memory as a buffer of the shape and dtype of `like`.

        Parameters
        ----------
        slot : array or tensor
            From `pinned`, no smaller than `like`.
        like : array or tensor
            On the device.

        Returns
        -------
        array or tensor
            In the memory of `slot`.
        """
        ...

    def copy_aside(self, target: Buffer, source: Buffer, after: Event) -> Event:
        """Queue a copy on the side stream that begins after `after`; return its end.

        Parameters
        ----------
        target, source : array or tensor
            Of one shape and dtype; one on the device, one in pinned memory.
        after : Event
            Of either stream.

        Returns
        -------
        Event
            The end of the copy.
        """
        ...

    def main_waits(self, event: Event) -> None:
        """Let what is queued on the main stream from now on begin after `event`.

        Parameters
        ----------
        event : Event
            Of the side stream.
        """
        ...
