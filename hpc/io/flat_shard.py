"""A rank's shard as a few flat arrays, and back with every check. Pure.

See `hpc.io.sharded` for what each array holds. The shard that `unflatten`
returns is made of views into the flat arrays.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from hpc.io.errors import FormatError
from hpc.io.halo import Ints, Longs, Part
from hpc.io.network import NetworkHeader
from hpc.io.shard import LayerShard, Shard

Flat = dict[str, npt.NDArray[Any]]
INTEGERS: dict[str, type] = {
    "ids": np.int32,
    "layers": np.int64,
    "links": np.int64,
    "targets": np.int64,
    "indptr": np.int32,
    "indices": np.int32,
    "rows": np.int32,
    "needs": np.int32,
    "sends": np.int32,
}
"""The flat arrays of whole numbers."""
FLOATING = ("data", "bias")
"""The flat arrays of the weights' dtype."""
FLAT = (*INTEGERS, *FLOATING)
LAYER_FIELDS, LINK_FIELDS, TARGET_FIELDS = 5, 4, 2


def flatten(shard: Shard) -> Flat:
    """Return a shard's flat arrays.

    Parameters
    ----------
    shard : Shard
        Of one rank.

    Returns
    -------
    dict of str to array
        One-dimensional copies, by name in the order of FLAT, see `hpc.io.sharded`.
    """
    layers = shard.layers
    every = [part for layer in layers for part in (layer.core, *layer.parts)]
    remote = [part for layer in layers for part in layer.parts]
    sends = [send for layer in layers for send in layer.sends]
    pieces: dict[str, list[Any]] = {
        "ids": list(shard.ids),
        "layers": [_layer_row(layer) for layer in layers],
        "links": [row for layer in layers for row in _link_rows(layer)],
        "targets": [(destination, len(rows)) for destination, rows in sends],
        "indptr": [part.indptr for part in every],
        "indices": [part.indices for part in every],
        "rows": [part.rows for part in remote],
        "needs": [ids for layer in layers for ids in layer.needs],
        "sends": [rows for _, rows in sends],
        "data": [part.data for part in every],
        "bias": [layer.bias for layer in layers],
    }
    return {
        name: np.concatenate([np.empty(0, dtype), *pieces[name]]).astype(dtype, copy=False)
        for name, dtype in flat_dtypes(shard.dtype).items()
    }


def flat_dtypes(dtype: npt.DTypeLike) -> dict[str, npt.DTypeLike]:
    """Return the dtype of each flat array.

    Parameters
    ----------
    dtype : dtype
        Of the network's weights.

    Returns
    -------
    dict of str to dtype
        By name in the order of FLAT.
    """
    return {**INTEGERS, **dict.fromkeys(FLOATING, dtype)}


def _layer_row(layer: LayerShard) -> tuple[int, ...]:
    return layer.n_in, layer.n_out, len(layer.core.data), len(layer.parts), len(layer.sends)


def _link_rows(layer: LayerShard) -> list[tuple[int, ...]]:
    return [
        (part.source, len(part.rows), len(part.data), len(ids))
        for part, ids in zip(layer.parts, layer.needs, strict=True)
    ]


def unflatten(flat: Flat, header: NetworkHeader, parts: int, rank: int) -> Shard:
    """Return the shard that `flatten` took apart.

    Parameters
    ----------
    flat : dict of str to array
        The arrays by name, of the dtypes of `flat_dtypes`.
    header : NetworkHeader
        Of the whole network.
    parts : int
        Ranks, P.
    rank : int
        Whose shard it is, from 0.

    Returns
    -------
    Shard
        Made of views into `flat`.

    Raises
    ------
    FormatError : counts that do not fit together, ids, columns or ranks out of range or
        out of order, weights that are not finite; names the layer.
    """
    where = f"{header.path}: rank {rank}"
    taken = {name: _Taker(name, array, where) for name, array in flat.items()}
    table = taken["layers"].take(header.n_layers * LAYER_FIELDS).reshape(-1, LAYER_FIELDS)
    if table.min(initial=0) < 0:
        raise FormatError(f"{where}: a negative count in 'layers'")
    counts = [int(table[0, 0]), *map(int, table[:, 1])]
    if counts[1:-1] != table[1:, 0].tolist():
        raise FormatError(f"{where}: the rows of a layer and of the next one's inputs differ")
    ids = tuple(taken["ids"].take(count) for count in counts)
    _check_ids(ids, header.sizes, where)
    layers = tuple(
        _Layer(taken, header, parts, rank, k, table[k]).build() for k in range(header.n_layers)
    )
    for taker in taken.values():
        taker.finish()
    return Shard(rank, parts, header.sizes, ids, layers, header.fingerprint, header.dtype)


class _Taker:
    """Hands out an array from front to back."""

    def __init__(self, name: str, array: npt.NDArray[Any], where: str) -> None:
        self._name, self._array, self._where = name, array, where
        self._at = 0

    def take(self, count: int) -> npt.NDArray[Any]:
        start, self._at = self._at, self._at + count
        if self._at > len(self._array):
            raise FormatError(
                f"{self._where}: '{self._name}' holds {len(self._array)} numbers, needs more"
            )
        return self._array[start : self._at]

    def finish(self) -> None:
        if self._at != len(self._array):
            raise FormatError(
                f"{self._where}: '{self._name}' holds {len(self._array)} numbers, "
                f"expected {self._at}"
            )


class _Layer:
    """One layer's arrays, taken from the flat ones, checked, and cut into views."""

    def __init__(
        self,
        taken: dict[str, _Taker],
        header: NetworkHeader,
        parts: int,
        rank: int,
        k: int,
        row: Longs,
    ) -> None:
        self.n_in, self.n_out, core_edges, n_links, n_targets = map(int, row)
        self.where = f"{header.path}: rank {rank}, layer {k + 1}"
        self.rank, self.parts, self.k, self.header = rank, parts, k, header
        self.links = taken["links"].take(n_links * LINK_FIELDS).reshape(-1, LINK_FIELDS)
        self.targets = taken["targets"].take(n_targets * TARGET_FIELDS).reshape(-1, TARGET_FIELDS)
        self._check_peers(self.links, "source")
        self._check_peers(self.targets, "destination")
        self.edges = np.concatenate(([core_edges], self.links[:, 2]))
        self.row_counts = np.concatenate(([self.n_out], self.links[:, 1]))
        self.indptr = taken["indptr"].take(int(self.row_counts.sum()) + len(self.row_counts))
        self.indices = taken["indices"].take(int(self.edges.sum()))
        self.data = taken["data"].take(int(self.edges.sum()))
        self.rows = taken["rows"].take(int(self.links[:, 1].sum()))
        self.needs = taken["needs"].take(int(self.links[:, 3].sum()))
        self.sends = taken["sends"].take(int(self.targets[:, 1].sum()))
        self.bias = taken["bias"].take(self.n_out)

    def build(self) -> LayerShard:
        self._check()
        sources = [self.rank, *self.links[:, 0].tolist()]
        rows = [np.arange(self.n_out, dtype=np.int32), *_pieces(self.rows, self.links[:, 1])]
        csr = zip(
            _pieces(self.indptr, self.row_counts + 1),
            _pieces(self.indices, self.edges),
            _pieces(self.data, self.edges),
            strict=True,
        )
        core, *parts = (
            Part(source, own, *arrays)
            for source, own, arrays in zip(sources, rows, csr, strict=True)
        )
        destinations = self.targets[:, 0].tolist()
        return LayerShard(
            self.n_in,
            self.n_out,
            core,
            tuple(parts),
            tuple(_pieces(self.needs, self.links[:, 3])),
            tuple(zip(destinations, _pieces(self.sends, self.targets[:, 1]), strict=True)),
            self.bias,
            self.header.activations[self.k],
            self.header.clips[self.k],
        )

    def _check(self) -> None:
        n_below = self.header.sizes[self.k]
        check_lists(self.rows, self.links[:, 1], 0, self.n_out, f"{self.where}: rows of a part")
        check_lists(self.needs, self.links[:, 3], 0, n_below, f"{self.where}: halo ids")
        check_lists(self.sends, self.targets[:, 1], 0, self.n_in, f"{self.where}: rows to send")
        self._check_columns()
        for name, values in (("weight", self.data), ("bias", self.bias)):
            if not np.isfinite(values).all():
                raise FormatError(f"{self.where}: a {name} is not finite")

    def _check_columns(self) -> None:
        """Check every part's row pointers, then every row's columns in its part's range."""
        ends = np.cumsum(self.row_counts + 1)
        lengths = np.diff(self.indptr)
        inside = np.ones(len(lengths), bool)
        inside[ends[:-1] - 1] = False
        first, last = self.indptr[ends - self.row_counts - 1], self.indptr[ends - 1]
        if first.any() or (last != self.edges).any() or lengths[inside].min(initial=0) < 0:
            raise FormatError(f"{self.where}: row pointers do not ascend from 0 to the weights")
        bounds = np.cumsum([0, self.n_in, *self.links[:, 3]])
        low, high = (np.repeat(side, self.row_counts) for side in (bounds[:-1], bounds[1:]))
        check_lists(self.indices, lengths[inside], low, high, f"{self.where}: columns of a row")

    def _check_peers(self, table: Longs, name: str) -> None:
        peers = table[:, 0]
        if (peers == self.rank).any():
            raise FormatError(f"{self.where}: {name} {self.rank} is the rank itself")
        check_lists(peers, np.array([len(peers)]), 0, self.parts, f"{self.where}: {name} ranks")
        if table[:, 1:].min(initial=1) < 1:
            raise FormatError(f"{self.where}: a {name} with nothing to exchange")


def check_lists(
    values: Ints | Longs,
    lengths: Longs,
    low: int | Longs,
    high: int | Longs,
    where: str,
) -> None:
    """Check that lists laid end to end each ascend strictly within their low..high-1.

    Parameters
    ----------
    values : (values,) int32 or int64 array
        The lists.
    lengths : (lists,) int64 array
        Their lengths, summing to len(values).
    low, high : int or (lists,) int64 array
        The range of all, or of each list.
    where : str
        Begins the message.

    Raises
    ------
    FormatError : a list that descends, repeats or leaves its range.
    """
    if not len(values):
        return
    filled = np.flatnonzero(lengths)
    stops = np.cumsum(lengths[filled])
    starts = stops - lengths[filled]
    rising = values[1:] > values[:-1]
    rising[starts[1:] - 1] = True
    if not rising.all():
        raise FormatError(f"{where} are not sorted or repeat")
    low, high = (np.broadcast_to(side, len(lengths))[filled] for side in (low, high))
    outside = np.flatnonzero((values[starts] < low) | (values[stops - 1] >= high))
    if outside.size:
        at = int(outside[0])
        raise FormatError(
            f"{where}: {values[starts[at]]}..{values[stops[at] - 1]} is outside "
            f"{low[at]}..{high[at] - 1}"
        )


def _check_ids(ids: tuple[Longs, ...], sizes: tuple[int, ...], where: str) -> None:
    for level, (own, size) in enumerate(zip(ids, sizes, strict=True)):
        check_lists(own, np.array([len(own)]), 0, size, f"{where}: neurons of level {level}")


def _pieces(array: npt.NDArray[Any], lengths: Longs) -> list[npt.NDArray[Any]]:
    """Cut an array into consecutive views."""
    bounds = [0, *np.cumsum(lengths).tolist()]
    return [array[start:stop] for start, stop in pairwise(bounds)]
