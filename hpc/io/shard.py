"""A rank's share of a network under a plan: its weights, its halo, its exchange lists.

Pure: `build_shard` needs no communicator, so one process can build every rank
of any size. `hpc.spdnn` builds the same thing in parallel, `hpc.io.sharded`
stores it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpc.io.halo import Floats, Ints, Longs, Part, cut_layer, layer_pairs, owned_ids
from hpc.io.network import Layer
from hpc.io.plan import Plan


@dataclass(frozen=True)
class LayerShard:
    """One layer on one rank.

    n_in, n_out : own rows of x^{k-1} and of x^k.
    core : weights in own columns. parts : weights in the columns of each source, source
        ascending. needs : per part the global ids of its halo rows, ascending; in x_ext the
        halo of part i starts at n_in + the lengths of the needs before it.
    sends : (destination, own rows of x^{k-1} in local numbering, int32, in the order in which
        the destination needs them), destination ascending.
    bias : (n_out,).
    """

    n_in: int
    n_out: int
    core: Part
    parts: tuple[Part, ...]
    needs: tuple[Ints, ...]
    sends: tuple[tuple[int, Ints], ...]
    bias: Floats
    activation: str
    clip: float

    @property
    def n_halo(self) -> int:
        """Rows of x^{k-1} received from other ranks."""
        return sum(map(len, self.needs))

    @property
    def n_ext(self) -> int:
        """Rows of x_ext: own and halo."""
        return self.n_in + self.n_halo

    @property
    def n_edges(self) -> int:
        """Weights of this layer on this rank."""
        return len(self.core.data) + sum(len(part.data) for part in self.parts)


@dataclass(frozen=True)
class Shard:
    """A network's share on one rank.

    sizes : (L+1,) neurons per level, of the whole network.
    ids : per level the global ids of the rank's own neurons, int32, ascending: its local numbering.
    fingerprint : of the network; dtype : of its weights.
    """

    rank: int
    size: int
    sizes: tuple[int, ...]
    ids: tuple[Ints, ...]
    layers: tuple[LayerShard, ...]
    fingerprint: str
    dtype: np.dtype[np.floating]


def build_shard(layers: Iterable[Layer], plan: Plan, rank: int) -> Shard:
    """Return the share of one rank, from all layers in one process.

    Parameters
    ----------
    layers : iterable of Layer
        The whole network, in order; taken one by one.
    plan : Plan
        Its cut.
    rank : int
        0..plan.parts-1.

    Returns
    -------
    Shard
        With copies of its weights.
    """
    return build_shards(layers, plan, range(rank, rank + 1))[0]


def build_shards(layers: Iterable[Layer], plan: Plan, ranks: Sequence[int]) -> list[Shard]:
    """Return the shares of some ranks, from one pass over the layers.

    Parameters
    ----------
    layers : iterable of Layer
        The whole network, in order; taken one by one.
    plan : Plan
        Its cut.
    ranks : sequence of int
        Of 0..plan.parts-1.

    Returns
    -------
    list of Shard
        In the order of `ranks`, with copies of their weights.
    """
    built: list[tuple[LayerShard, ...]] = []
    dtype = np.dtype(np.float32)
    for k, layer in enumerate(layers):
        dtype = layer.weight.dtype
        owners_in, owners_out = plan.owners[k : k + 2]
        built.append(tuple(_layer_shards(layer, owners_in, owners_out, plan.parts, ranks)))
    return [
        Shard(
            rank,
            plan.parts,
            plan.sizes,
            tuple(owned_ids(level, rank) for level in plan.owners),
            share,
            plan.fingerprint,
            np.dtype(dtype),
        )
        for rank, share in zip(ranks, zip(*built, strict=True), strict=True)
    ]


def _layer_shards(
    layer: Layer, owners_in: Ints, owners_out: Ints, parts: int, ranks: Sequence[int]
) -> Iterator[LayerShard]:
    """Yield the layer's share of each of `ranks`."""
    pairs = _sent_by(layer, owners_in, owners_out, parts, ranks)
    by_sender = np.argsort(pairs[0], kind="stable")
    bounds = np.searchsorted(pairs[0][by_sender], np.arange(parts + 1))
    for rank in ranks:
        own_in, own_out = owned_ids(owners_in, rank), owned_ids(owners_out, rank)
        mine = layer.weight[own_out]
        cut = cut_layer(
            mine.indptr.astype(np.int64), mine.indices.astype(np.int32), mine.data, owners_in, rank
        )
        sent = by_sender[bounds[rank] : bounds[rank + 1]]
        sender, receiver, column = (words[sent] for words in pairs)
        yield LayerShard(
            len(own_in),
            len(own_out),
            cut.core,
            cut.parts,
            cut.needs,
            sends_of(rank, (sender, receiver, column), own_in),
            layer.bias[own_out],
            layer.activation,
            layer.clip,
        )


def _sent_by(
    layer: Layer, owners_in: Ints, owners_out: Ints, parts: int, ranks: Sequence[int]
) -> tuple[Longs, Longs, Longs]:
    """Return `halo.layer_pairs` of the words that `ranks` send, from their columns alone."""
    among = np.zeros(parts, bool)
    among[list(ranks)] = True
    chosen = among[owners_in[layer.weight.indices]]
    indptr = np.concatenate(([0], np.cumsum(chosen)))[layer.weight.indptr]
    columns = layer.weight.indices[chosen].astype(np.int32)
    return layer_pairs(indptr, columns, owners_out, owners_in, parts)


def sends_of(
    rank: int, pairs: tuple[Longs, Longs, Longs], own: Ints
) -> tuple[tuple[int, Ints], ...]:
    """Return what `rank` sends in a layer.

    Parameters
    ----------
    rank : int
        From 0.
    pairs : three (words,) int64 arrays
        Sender, receiver and column in the order of `halo.layer_pairs`; at least all words that
        `rank` sends.
    own : (n_in,) int32 array
        Global ids of the rank's own rows of x^{k-1}, ascending.

    Returns
    -------
    tuple of (int, (rows,) int32 array)
        Destination, ascending, and the own rows that it gets, in local numbering.
    """
    sender, receiver, column = pairs
    mine = sender == rank
    receiver, column = receiver[mine], column[mine]
    destinations, starts = np.unique(receiver, return_index=True)
    rows: list[npt.NDArray[np.int64]] = np.split(np.searchsorted(own, column), starts[1:])
    return tuple(
        (int(destination), local.astype(np.int32))
        for destination, local in zip(destinations, rows, strict=False)
    )
