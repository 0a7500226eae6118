"""The streams of a CUDA device, as the transports see them (`hpc.comm.streams`)."""

from __future__ import annotations

import torch

from hpc.comm.streams import Event


class CudaEvent:
    """A point in a stream of the device. See `streams.Event`.

    Parameters
    ----------
    event : torch.cuda.Event
        Recorded.
    """

    def __init__(self, event: torch.cuda.Event) -> None:
        self.event = event

    def done(self) -> bool:
        """Return whether the device has passed it, without waiting.

        Returns
        -------
        bool
            Once True, always True.
        """
        return bool(self.event.query())


class CudaStreams:
    """The current stream of a device as main stream, and a stream of its own for copies.

    See `streams.Streams`.

    Parameters
    ----------
    device : torch.device
        Must be the current one of this process.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._side = torch.cuda.Stream(device)

    def mark(self) -> CudaEvent:
        """Return an event after all that is queued on the current stream.

        Returns
        -------
        CudaEvent
            Recorded now.
        """
        return self._marked(torch.cuda.current_stream(self._device))

    def _marked(self, stream: torch.cuda.Stream) -> CudaEvent:
        event = torch.cuda.Event()
        event.record(stream)
        return CudaEvent(event)

    def pinned(self, n_bytes: int) -> torch.Tensor:
        """Return pinned host memory.

        Parameters
        ----------
        n_bytes : int
            How much.

        Returns
        -------
        (n_bytes,) uint8 tensor
            Not initialised.
        """
        return torch.empty(n_bytes, dtype=torch.uint8, pin_memory=True)

    def view(self, slot: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Return the beginning of `slot` as a tensor of the shape and dtype of `like`.

        Parameters
        ----------
        slot : (n,) uint8 tensor
            Of at least as many bytes.
        like : torch.Tensor
            On any device.

        Returns
        -------
        torch.Tensor
            A view.
        """
        return slot[: like.nbytes].view(like.dtype).view(like.shape)

    def copy_aside(self, target: torch.Tensor, source: torch.Tensor, after: Event) -> CudaEvent:
        """Queue a copy on the side stream; both tensors must live until it is done.

        Parameters
        ----------
        target, source : torch.Tensor
            Of the same shape and dtype, one of them in pinned memory.
        after : Event
            The copy begins when it is over.

        Returns
        -------
        CudaEvent
            The copy's end.
        """
        if isinstance(after, CudaEvent):
            self._side.wait_event(after.event)
        with torch.cuda.stream(self._side):
            target.copy_(source, non_blocking=True)
        return self._marked(self._side)

    def main_waits(self, event: Event) -> None:
        """Let what is queued on the current stream from now on begin after `event`.

        Parameters
        ----------
        event : Event
            Of any stream of the device; one that is no CudaEvent is over.
        """
        if isinstance(event, CudaEvent):
            torch.cuda.current_stream(self._device).wait_event(event.event)
