"""What a rank keeps of the blocks that it trains, and how another gets it back.

A part has per block ``B.losses``, the rank's part of the losses of this epoch's rounds so far;
one rank of a group also ``B.state``, weights and optimizers, and ``B.best``, the best epoch's
student. How a run is cut plays no part: each rank reads the blocks that it has now.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from hpc.io.checkpoint import Index, opened_part
from hpc.io.container import dataset, read
from hpc.pipebd.flat_state import FlatState, state_of

Array = npt.NDArray[Any]


class KeptStates:
    """What a rank keeps of a run. See `checkpoint_writing.Source`.

    Parameters
    ----------
    part : int or None
        Number of the rank's file; None for a rank that keeps nothing.
    states : callable
        Returns by name what torch keeps: nested dicts, lists, tensors and plain values.
    losses : callable
        Returns by name (rounds,) float64 arrays.
    position : callable
        Returns numbers and arrays that are not of one rank, see `Source`.
    """

    def __init__(
        self,
        part: int | None,
        states: Callable[[], Mapping[str, Any]],
        losses: Callable[[], Mapping[str, Array]],
        position: Callable[[], tuple[dict[str, Any], dict[str, Array]]],
    ) -> None:
        self.part, self.position = part, position
        self._states, self._losses = states, losses
        self._copies: dict[str, FlatState] = {}
        self._seen: dict[str, Array] = {}

    def copy(self) -> None:
        """Copy all states and losses to host memory."""
        found = self._states()
        for name, state in found.items():
            self._copies.setdefault(name, FlatState()).copy(state)
        self._seen = {name: values.copy() for name, values in self._losses().items()}

    def arrays(self) -> Iterator[tuple[str, Array]]:
        """Yield what was copied; called in a thread.

        Yields
        ------
        name : str
            Of the array.
        array : (n,) array
            Losses float64, states uint8.
        """
        yield from self._seen.items()
        for name, copied in self._copies.items():
            yield from copied.arrays(name)


def read_state(index: Index, part: int, name: str) -> Any:
    """Return a state from a part, None where it has none of this name. Local.

    Parameters
    ----------
    index : Index
        Of a complete checkpoint.
    part : int
        From 0.
    name : str
        Such as '3.state'.

    Returns
    -------
    Any
        As torch had it, its tensors in host memory; or None.

    Raises
    ------
    FormatError : the part cannot be read.
    """
    with opened_part(index, part) as file:
        if f"{name}.tree" not in file:
            return None
        data, tree = (
            read(dataset(file, key, ("uint8",), (None,))) for key in (name, f"{name}.tree")
        )
    return state_of(data, tree)


def read_losses(index: Index, parts: Iterable[int], name: str, n_rounds: int) -> Array:
    """Return the sum of the losses in some parts. Local.

    Parameters
    ----------
    index : Index
        Of a complete checkpoint.
    parts : iterable of int
        From 0; perhaps none.
    name : str
        Such as '3.losses'.
    n_rounds : int
        As many as the parts have.

    Returns
    -------
    (n_rounds,) float64 array
        Zeros without parts.

    Raises
    ------
    FormatError : a part cannot be read, or has other losses.
    """
    found = np.zeros(n_rounds)
    for part in parts:
        with opened_part(index, part) as file:
            found += read(dataset(file, name, ("float64",), (n_rounds,)))
    return found


def digest_of(modules: Iterable[nn.Module]) -> str:
    """Return a digest of all weights and buffers, names included.

    Parameters
    ----------
    modules : iterable of nn.Module
        Their order counts.

    Returns
    -------
    str
        16 hexadecimal digits: the same for the same bits, on any device.
    """
    found = hashlib.blake2b(digest_size=8)
    for module in modules:
        for name, value in module.state_dict().items():
            found.update(name.encode())
            flat = value.detach().cpu().contiguous().reshape(-1)
            found.update(flat.view(torch.uint8).numpy().tobytes())
    return found.hexdigest()
