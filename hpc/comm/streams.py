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
        """Return True."""
        return True


PASSED = Passed()


class Streams(Protocol):
    """The two streams of a device and its pinned host memory."""

    def mark(self) -> Event:
        """Return an event after all that is queued on the main stream now."""
        ...

    def pinned(self, n_bytes: int) -> Buffer:
        """Return host memory that the device copies to and from by itself."""
        ...

    def view(self, slot: Buffer, like: Buffer) -> Buffer:
        """Return the beginning of pinned memory as a buffer of the shape and dtype of `like`."""
        ...

    def copy_aside(self, target: Buffer, source: Buffer, after: Event) -> Event:
        """Queue a copy on the side stream that begins after `after`; return its end."""
        ...

    def main_waits(self, event: Event) -> None:
        """Let what is queued on the main stream from now on begin after `event`."""
        ...
