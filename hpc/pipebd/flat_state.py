"""States of modules and optimizers, nested as torch has them, as two flat arrays of bytes.

The first is JSON that names the places of the tensors in the second. Room is made once and is
kept, so that a copy of a state that has not grown allocates nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

Bytes = npt.NDArray[np.uint8]
ALIGNED = 16
"""Bytes: a tensor's place is a multiple of it."""


class FlatState:
    """A copy of a state in host memory."""

    def __init__(self) -> None:
        self._room = torch.empty(0, dtype=torch.uint8)
        self._used, self._tree = 0, ""

    def copy(self, state: Any) -> None:
        """Copy a state. A later one that is no larger takes the same memory.

        Parameters
        ----------
        state : Any
            Of dicts, lists, tuples, tensors and plain values.

        Raises
        ------
        TypeError : a key or value that JSON does not know.
        """
        tensors: list[tuple[int, torch.Tensor]] = []
        self._tree = json.dumps(_described(state, tensors))
        self._used = _end(*tensors[-1]) if tensors else 0
        if len(self._room) < self._used:
            self._room = torch.zeros(self._used, dtype=torch.uint8)
        for start, tensor in tensors:
            if tensor.numel():
                _view(self._room, start, tensor.dtype, tensor.shape).copy_(tensor.detach())

    def arrays(self, name: str) -> Iterator[tuple[str, Bytes]]:
        """Yield the two arrays of the last copy, by name: NAME and NAME.tree.

        Parameters
        ----------
        name : str
            NAME.

        Yields
        ------
        name : str
            Of the array.
        array : (n,) uint8 array
            Views: the next copy writes into the first.
        """
        yield name, self._room.numpy()[: self._used]
        yield f"{name}.tree", np.frombuffer(self._tree.encode(), np.uint8)


def state_of(data: Bytes, tree: Bytes) -> Any:
    """Return the state that two arrays hold.

    Parameters
    ----------
    data, tree : (n,) uint8 array
        Those called NAME and NAME.tree.

    Returns
    -------
    Any
        Its tensors lie in `data`.
    """
    return _restored(json.loads(tree.tobytes()), torch.from_numpy(data))


def _described(state: Any, tensors: list[tuple[int, torch.Tensor]]) -> Any:
    """Return a state as JSON takes it and note the tensors with their places."""
    if isinstance(state, torch.Tensor):
        start = -(-_end(*tensors[-1]) // ALIGNED) * ALIGNED if tensors else 0
        tensors.append((start, state))
        return {"tensor": [str(state.dtype).removeprefix("torch."), list(state.shape), start]}
    if isinstance(state, Mapping):
        return {"dict": [[key, _described(value, tensors)] for key, value in state.items()]}
    if isinstance(state, list | tuple):
        kind = "list" if isinstance(state, list) else "tuple"
        return {kind: [_described(value, tensors) for value in state]}
    return state


def _restored(described: Any, room: torch.Tensor) -> Any:
    if not isinstance(described, dict):
        return described
    ((kind, content),) = described.items()
    if kind == "tensor":
        dtype, shape, start = content
        return _view(room, start, getattr(torch, dtype), torch.Size(shape))
    if kind == "dict":
        return {key: _restored(value, room) for key, value in content}
    values = [_restored(value, room) for value in content]
    return values if kind == "list" else tuple(values)


def _end(start: int, tensor: torch.Tensor) -> int:
    return start + tensor.numel() * tensor.element_size()


def _view(room: torch.Tensor, start: int, dtype: torch.dtype, shape: torch.Size) -> torch.Tensor:
    """Return the tensor that lies at a place of the room."""
    stop = start + shape.numel() * dtype.itemsize
    return room[start:stop].view(dtype).view(shape)
