"""The streams of a CUDA device, as the transports see them (`hpc.comm.streams`)."""

from __future__ import annotations

import torch

from hpc.comm.streams import Event


class CudaEvent:
    """A point in a stream of the device."""

    def __init__(self, event: torch.cuda.Event) -> None:
        self.event = event

    def done(self) -> bool:
        """Return whether the device has passed it."""
        return bool(self.event.query())


class CudaStreams:
    """The current stream of a device as main stream, and a stream of its own for copies.

    device : must be the current one of this process.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._side = torch.cuda.Stream(device)

    def mark(self) -> CudaEvent:
        """Return an event after all that is queued on the current stream."""
        return self._marked(torch.cuda.current_stream(self._device))

    def _marked(self, stream: torch.cuda.Stream) -> CudaEvent:
        event = torch.cuda.Event()
        event.record(stream)
        return CudaEvent(event)

    def pinned(self, n_bytes: int) -> torch.Tensor:
        """Return pinned host memory, (n_bytes,) uint8."""
        return torch.empty(n_bytes, dtype=torch.uint8, pin_memory=True)

    def view(self, slot: torch.Tensor, like: torch.Tensor) -> torch.Tensor:
        """Return the beginning of `slot` as a tensor of the shape and dtype of `like`."""
        return slot[: like.nbytes].view(like.dtype).view(like.shape)

    def copy_aside(self, target: torch.Tensor, source: torch.Tensor, after: Event) -> CudaEvent:
        """Queue a copy on the side stream; both tensors must live until it is done."""
        if isinstance(after, CudaEvent):
            self._side.wait_event(after.event)
        with torch.cuda.stream(self._side):
            target.copy_(source, non_blocking=True)
        return self._marked(self._side)

    def main_waits(self, event: Event) -> None:
        """Let the current stream wait for `event`."""
        if isinstance(event, CudaEvent):
            torch.cuda.current_stream(self._device).wait_event(event.event)
