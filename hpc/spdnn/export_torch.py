"""Networks for torch: a state dict of sparse CSR tensors, by ``torch.save``.

``torch.load(path)`` gives ``state_dict`` and ``metadata``. Keys are those of an `nn.Sequential`
of Linear and activation modules in turn, ``0.weight``, ``0.bias``, ``2.weight`` ...; a layer
without activation (identity) is followed by the next Linear at once. ``metadata["layers"]`` has
of each layer its ``prefix``, ``activation`` and ``clip``.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import torch

from hpc.io.aside import written_aside
from hpc.io.network import Layer, NetworkFile
from hpc.spdnn.narrow_index import narrow_index

Advance = Callable[[int, str], None]
Place = tuple[int, int, np.dtype[Any]]
"""Where an array lies in a file: first byte, items, dtype."""
NOTE = (
    "x = f(W x + b) layer by layer, x of shape (inputs, batch); f is the layer's activation, "
    "clipped-relu is clamp(0, clip). For an nn.Sequential of Linear and activations: "
    "load_state_dict({k: v.to_dense() for k, v in state_dict.items()})"
)


def write_state(
    file: NetworkFile, to: str | os.PathLike[str], metadata: dict[str, Any], advance: Advance
) -> None:
    """Write the state dict.

    ``torch.save`` wants all tensors at once, so they are first laid down in a file beside, and
    mapped from there: memory holds one layer, the disk the network twice for a while.

    Parameters
    ----------
    file : the network.
    to : file to write.
    metadata : plain data.
    advance : told of layers.

    Raises
    ------
    InputError : it cannot be written.
    """
    scratch = Path(f"{os.fspath(to)}.arrays")
    with written_aside(to) as partial, written_aside(scratch, keep=False) as arrays:
        with open(arrays, "wb") as raw:
            places = list(_lay_down(file, raw, advance))
        state, layers = _state(arrays, file, places), _described(file, metadata)
        contents = {"state_dict": state, "metadata": {**metadata, "layers": layers, "note": NOTE}}
        with open(partial, "wb") as out:
            torch.save(contents, out)


def prefixes(activations: tuple[str, ...]) -> list[str]:
    """Return the place of each layer in an `nn.Sequential`. Pure.

    Parameters
    ----------
    activations : of the layers; identity has no module.

    Returns
    -------
    The numbers of the Linear modules, as text.
    """
    widths = [1 + (name != "identity") for name in activations]
    return [str(start) for start in np.cumsum([0, *widths[:-1]])]


def _described(file: NetworkFile, metadata: dict[str, Any]) -> list[dict[str, Any]]:
    names = prefixes(file.header.activations)
    return [
        {"prefix": name, **layer} for name, layer in zip(names, metadata["layers"], strict=True)
    ]


def _lay_down(file: NetworkFile, raw: IO[bytes], advance: Advance) -> Iterator[list[Place]]:
    """Write the arrays of each layer; yield where they are."""
    for layer in file.layers():
        yield [_append(raw, array) for array in _arrays(layer)]
        advance(1, "")


def _arrays(layer: Layer) -> list[npt.NDArray[Any]]:
    """Return row pointers, columns, weights, biases; the first two of one dtype, as torch asks."""
    weight = narrow_index(layer.weight)
    return [weight.indptr, weight.indices, weight.data, layer.bias]


def _append(raw: IO[bytes], array: npt.NDArray[Any]) -> Place:
    raw.write(bytes(-raw.tell() % array.dtype.itemsize))
    start = raw.tell()
    raw.write(np.ascontiguousarray(array).view(np.uint8).data)
    return start, len(array), array.dtype


def _state(arrays: Path, file: NetworkFile, places: list[list[Place]]) -> dict[str, torch.Tensor]:
    """Return the tensors, mapped."""
    mapped = np.memmap(arrays, np.uint8, mode="c")
    state: dict[str, torch.Tensor] = {}
    header = file.header
    for k, prefix in enumerate(prefixes(header.activations)):
        rows, columns, weights, bias = (_tensor(mapped, place) for place in places[k])
        size = (header.sizes[k + 1], header.sizes[k])
        with warnings.catch_warnings():  # torch says once that sparse CSR is new
            warnings.simplefilter("ignore", UserWarning)
            state[f"{prefix}.weight"] = torch.sparse_csr_tensor(
                rows, columns, weights, size=size, check_invariants=True
            )
        state[f"{prefix}.bias"] = bias
    return state


def _tensor(mapped: npt.NDArray[np.uint8], place: Place) -> torch.Tensor:
    start, items, dtype = place
    if not items:
        return torch.from_numpy(np.empty(0, dtype))
    return torch.from_numpy(mapped[start : start + items * dtype.itemsize].view(dtype))
