"""Arrays to a torch device and back: as they are on the CPU, through pinned memory to a GPU."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import torch

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]


class Staging:
    """Buffers by name, each as large as the largest use so far, so they stop growing soon.

    What a call returns is good until the next call with the same name.

    Parameters
    ----------
    device : torch.device
        'cpu' or a CUDA device.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self._on_gpu = device.type == "cuda"
        self._buffers: dict[tuple[str, torch.dtype], torch.Tensor] = {}
        self._pinned: dict[tuple[str, torch.dtype], torch.Tensor] = {}

    def up(self, name: str, values: Floats) -> torch.Tensor:
        """Return numbers on the device.

        Parameters
        ----------
        name : str
            Of the buffer.
        values : (rows, width) array
            Contiguous, in host memory.

        Returns
        -------
        (rows, width) tensor
            On the CPU it shares the memory of `values`.
        """
        source = torch.from_numpy(values)
        if not self._on_gpu:
            return source
        return self._sent(name, self._host(name, source.shape, source.dtype).copy_(source))

    def rows_up(self, name: str, values: Floats, rows: Ints) -> torch.Tensor:
        """Return some rows of an array on the device.

        Parameters
        ----------
        name : str
            Of the buffer.
        values : (n, width) array
            In host memory.
        rows : (m,) int32 array
            Which, 0..n-1.

        Returns
        -------
        (m, width) tensor
            A copy, also on the CPU.
        """
        dtype = torch.from_numpy(values).dtype
        gathered = self._host(name, (len(rows), values.shape[1]), dtype)
        np.take(values, rows, axis=0, out=gathered.numpy(), mode="clip")
        return self._sent(name, gathered)

    def room(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Return a buffer on the device, its numbers whatever they were.

        Parameters
        ----------
        name : str
            Of the buffer.
        shape : tuple of int
            Of the result.
        dtype : torch.dtype
            Buffers of one name and two dtypes are two.

        Returns
        -------
        tensor
            Of that shape.
        """
        return _shaped(self._buffers, name, shape, dtype, device=self.device)

    def down(self, name: str, values: torch.Tensor) -> Floats:
        """Return what is on the device in host memory, once all work before is done.

        Parameters
        ----------
        name : str
            Of the buffer.
        values : tensor
            On the device.

        Returns
        -------
        array
            On the CPU it shares the memory of `values`.
        """
        if not self._on_gpu:
            return values.numpy()
        host = self._host(name, values.shape, values.dtype).copy_(values, non_blocking=True)
        torch.cuda.current_stream(self.device).synchronize()
        return host.numpy()

    def _sent(self, name: str, host: torch.Tensor) -> torch.Tensor:
        if not self._on_gpu:
            return host
        return self.room(name, tuple(host.shape), host.dtype).copy_(host, non_blocking=True)

    def _host(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """Return host memory that no copy under way still reads."""
        if self._on_gpu:
            torch.cuda.current_stream(self.device).synchronize()
        return _shaped(self._pinned, name, shape, dtype, pin_memory=self._on_gpu)


def _shaped(
    buffers: dict[tuple[str, torch.dtype], torch.Tensor],
    name: str,
    shape: tuple[int, ...],
    dtype: torch.dtype,
    **where: torch.device | bool,
) -> torch.Tensor:
    size = int(np.prod(shape))
    key = name, dtype
    if key not in buffers or buffers[key].numel() < size:
        buffers[key] = torch.empty(size, dtype=dtype, **where)
    return buffers[key][:size].view(shape)
