"""The sharded network file: a network in rank order, with its exchange lists.

Layout (format ``relaycut-sharded``, version 1). Rank r's share is one
contiguous range of each flat dataset, so its start is one read of each,
whatever the number of ranks and layers:

- ``sizes``, ``nnz``, ``activation``, ``clip``, attribute ``fingerprint``: as in
  a network file. Attributes ``parts`` and ``asked``: as in a plan file.
- ``words``, ``messages`` (L,) int64: what all ranks send, forward, for one input.
- ``offsets`` (P+1, 11) int64: where each rank's range starts in each of the
  flat datasets, which follow, in this order.
- ``ids`` int32: the rank's own neurons, level by level, ascending.
- ``layers`` int64: per layer n_in, n_out, core weights, sources, destinations.
- ``links`` int64: per source of a layer its rank, rows, weights, halo rows.
- ``targets`` int64: per destination of a layer its rank and how many rows it gets.
- ``indptr``, ``indices`` int32: layer by layer the core part's CSR, then
  each source's; each indptr starts at 0, columns are in x_ext numbering.
- ``rows`` int32, ``needs`` int32: per source the local rows of its part and the
  ids of its halo rows.
- ``sends`` int32: per destination the own rows of x^{k-1} that it gets.
- ``data`` float: the weights, in the order of ``indices``. ``bias`` float.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np

from hpc.io import container
from hpc.io.errors import FormatError, InputError
from hpc.io.flat_shard import FLAT, flat_dtypes, flatten, unflatten
from hpc.io.halo import Longs
from hpc.io.network import NetworkHeader, header_of, put_header
from hpc.io.plan import Plan, check_plan
from hpc.io.shard import Shard

KIND = "sharded"
VERSION = 1


@dataclass(frozen=True)
class ShardedHeader:
    """What a sharded file says before any weight is read.

    network : sizes, weights per layer, activations, dtype, fingerprint of the whole network.
    asked : what the partitioner was told.
    words, messages : (L,) int64, what all ranks send per layer, forward, for one input.
    """

    network: NetworkHeader
    parts: int
    asked: dict[str, Any]
    words: Longs
    messages: Longs


def write_sharded(
    path: str | os.PathLike[str], header: NetworkHeader, plan: Plan, shards: Iterable[Shard]
) -> None:
    """Write a network that `plan` cuts, one shard in memory.

    Parameters
    ----------
    path : file to write.
    header : of the network file.
    plan : the cut, for as many ranks as there are shards.
    shards : those of all ranks, in rank order.

    Raises
    ------
    InputError : a plan of another network, an unwritable path.
    """
    check_plan(plan, header, plan.parts)
    with container.create(path, KIND, VERSION) as file:
        put_header(
            file, header.sizes, header.nnz, header.activations, header.clips, header.fingerprint
        )
        file.attrs["parts"] = plan.parts
        container.put_text(file, "asked", json.dumps(plan.asked, sort_keys=True))
        _put_shards(file, header, plan.parts, shards)


def _put_shards(
    file: h5py.File, header: NetworkHeader, parts: int, shards: Iterable[Shard]
) -> None:
    sets = {
        name: container.appendable(file, name, dtype)
        for name, dtype in flat_dtypes(header.dtype).items()
    }
    offsets = [[0] * len(sets)]
    words, messages = np.zeros((2, header.n_layers), np.int64)
    for rank, shard in enumerate(shards):
        if (shard.rank, shard.size) != (rank, parts):
            raise ValueError(f"shard {shard.rank} of {shard.size}, expected {rank} of {parts}")
        for name, array in flatten(shard).items():
            container.append(sets[name], array)
        offsets.append([len(dataset) for dataset in sets.values()])
        words += [sum(len(rows) for _, rows in layer.sends) for layer in shard.layers]
        messages += [len(layer.sends) for layer in shard.layers]
    if len(offsets) != parts + 1:
        raise ValueError(f"{len(offsets) - 1} shards, expected {parts}")
    container.put(file, "offsets", np.array(offsets, np.int64))
    container.put(file, "words", words)
    container.put(file, "messages", messages)


@contextlib.contextmanager
def open_sharded(path: str | os.PathLike[str]) -> Iterator[ShardedFile]:
    """Open a sharded file for reading; see `container.opened` for what it raises.

    Parameters
    ----------
    path : sharded file.
    """
    with container.opened(path, KIND, VERSION) as file:
        yield ShardedFile(file, path)


def read_sharded_header(path: str | os.PathLike[str]) -> ShardedHeader:
    """Return the header of a sharded file, checked.

    Parameters
    ----------
    path : sharded file.

    Returns
    -------
    The header.
    """
    with open_sharded(path) as sharded:
        return sharded.header


def read_shard(path: str | os.PathLike[str], rank: int) -> tuple[Shard, int]:
    """Return the shard of `rank`, checked, and the bytes of datasets read for it.

    Its arrays are views into one array per flat dataset; all weights of the rank lie in one
    array, layer by layer.

    Parameters
    ----------
    path : sharded file.
    rank : from 0.

    Returns
    -------
    The shard, and the bytes.

    Raises
    ------
    InputError : no such rank. FormatError : see `container.opened` and `flat_shard.unflatten`.
    """
    with open_sharded(path) as sharded:
        return sharded.shard(rank), sharded.bytes_read


class ShardedFile:
    """An open sharded file.

    Parameters
    ----------
    file : open, of this format.
    path : for messages.

    Attributes
    ----------
    header : ShardedHeader
    bytes_read : bytes of datasets read so far.
    """

    def __init__(self, file: h5py.File, path: str | os.PathLike[str]) -> None:
        network = header_of(file, path)
        per_layer = [
            container.dataset(file, name, ("int64",), (network.n_layers,))[:]
            for name in ("words", "messages")
        ]
        parts = int(file.attrs["parts"])
        if parts < 1:
            raise FormatError(f"{path}: made for {parts} ranks, expected 1 or more")
        self.header = ShardedHeader(network, parts, container.mapping(file, "asked"), *per_layer)
        self._offsets = container.dataset(file, "offsets", ("int64",), (parts + 1, len(FLAT)))
        self._flat = {
            name: container.dataset(file, name, (np.dtype(dtype).name,), (None,))
            for name, dtype in flat_dtypes(network.dtype).items()
        }
        self.bytes_read = sum(array.nbytes for array in per_layer) + _header_bytes(network)

    def shard(self, rank: int) -> Shard:
        """Return the shard of `rank`: one contiguous read of each flat dataset.

        Parameters
        ----------
        rank : from 0.

        Returns
        -------
        The shard.
        """
        if not 0 <= rank < self.header.parts:
            raise InputError(
                f"{self.header.network.path}: has ranks 0..{self.header.parts - 1}, not {rank}"
            )
        start, stop = self._offsets[rank : rank + 2]
        self.bytes_read += start.nbytes + stop.nbytes
        self._check_range(rank, start, stop)
        flat = {
            name: dataset[start[i] : stop[i]]
            for i, (name, dataset) in enumerate(self._flat.items())
        }
        self.bytes_read += sum(array.nbytes for array in flat.values())
        return unflatten(flat, self.header.network, self.header.parts, rank)

    def _check_range(self, rank: int, start: Longs, stop: Longs) -> None:
        lengths = np.array([len(dataset) for dataset in self._flat.values()])
        if (start < 0).any() or (stop < start).any() or (stop > lengths).any():
            raise FormatError(
                f"{self.header.network.path}: rank {rank}'s offsets lie outside the data"
            )


def _header_bytes(network: NetworkHeader) -> int:
    """Return the bytes of ``sizes``, ``nnz``, ``activation`` and ``clip``."""
    return 8 * (len(network.sizes) + network.n_layers) + 9 * network.n_layers
