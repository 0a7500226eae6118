"""A trained network back into a network file, layer by layer, in bounded memory.

Each rank routes its rows to the rank that holds that range of rows in the
file's order; the ranges then go one after another to rank 0, which writes.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from mpi4py.util.dtlib import from_numpy_dtype
from scipy import sparse

from hpc.comm.replicas import replica_groups
from hpc.comm.route import item_order, route_rows
from hpc.comm.tags import Tag
from hpc.io import container, network
from hpc.io.network import Layer, NetworkWriter, Rows
from hpc.io.ownership import block_owners, owned_range
from hpc.io.shard import LayerShard, Shard

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]


def save_network(
    comm: MPI.Comm,
    path: str | os.PathLike[str],
    shard: Shard,
    values: Sequence[Floats],
    biases: Sequence[Floats],
) -> None:
    """Write the network that `shard` is a share of, with other weights. Collective.

    The pattern, and so the fingerprint, is that of the network that was loaded.

    Parameters
    ----------
    comm : of as many ranks as the shard was cut for.
    path : file to write.
    shard : this rank's share, for pattern and activations.
    values : per layer (nnz,), core part first, then by source.
    biases : per layer (n_out,).
    """
    with _writer(comm, path, shard.sizes[0]) as writer:
        for k, layer in enumerate(shard.layers):
            if writer is not None:
                writer.begin(shard.sizes[k], layer.activation, layer.clip)
            rows = global_rows(layer, shard.ids[k], values[k], biases[k])
            for block in _in_file_order(comm, rows, shard.ids[k + 1], shard.sizes[k + 1]):
                if writer is not None:
                    writer.add_rows(block)


def save_trained(
    comm: MPI.Comm,
    path: str | os.PathLike[str],
    shard: Shard,
    values: Sequence[Floats],
    biases: Sequence[Floats],
    replicas: int = 1,
) -> None:
    """Write a trained network once: the first replica does, all have the same. Collective.

    Parameters
    ----------
    comm : of all ranks.
    path : file to write.
    shard, values, biases : see `save_network`.
    replicas : as it was trained.
    """
    with replica_groups(comm, replicas) as ranks, ranks.together():
        if ranks.number == 0:
            save_network(ranks.group, path, shard, values, biases)


def gather_trained(
    comm: MPI.Comm,
    shard: Shard,
    values: Sequence[Floats],
    biases: Sequence[Floats],
    replicas: int = 1,
) -> list[Layer] | None:
    """Return a trained network as a whole on rank 0; None elsewhere. Collective.

    Parameters
    ----------
    comm : of all ranks.
    shard, values, biases : see `save_network`.
    replicas : as it was trained.

    Returns
    -------
    Its layers, in the order of the network's rows.
    """
    with replica_groups(comm, replicas) as ranks, ranks.together():
        whole = [
            _whole_layer(ranks.group, shard, k, values[k], biases[k])
            for k in range(0 if ranks.number else len(shard.layers))
        ]
    layers = [layer for layer in whole if layer is not None]
    return layers if comm.rank == 0 else None


def _whole_layer(
    comm: MPI.Comm, shard: Shard, k: int, values: Floats, bias: Floats
) -> Layer | None:
    """Return layer k on rank 0. Collective."""
    layer = shard.layers[k]
    rows = global_rows(layer, shard.ids[k], values, bias)
    blocks = list(_in_file_order(comm, rows, shard.ids[k + 1], shard.sizes[k + 1]))
    if comm.rank:
        return None
    shape = (shard.sizes[k + 1], shard.sizes[k])
    parts = [
        sparse.csr_array((b.data, b.indices, b.indptr), shape=(len(b.bias), shape[1]))
        for b in blocks
    ]
    whole = sparse.csr_array(sparse.vstack(parts, format="csr"))
    return Layer(whole, np.concatenate([b.bias for b in blocks]), layer.activation, layer.clip)


@contextlib.contextmanager
def _writer(
    comm: MPI.Comm, path: str | os.PathLike[str], n_inputs: int
) -> Iterator[NetworkWriter | None]:
    """Yield the writer on rank 0, None elsewhere."""
    if comm.rank:
        yield None
        return
    with container.create(path, network.KIND, network.VERSION) as file:
        writer = NetworkWriter(file, n_inputs)
        yield writer
        writer.close()


def global_rows(layer: LayerShard, own: Ints, values: Floats, bias: Floats) -> Rows:
    """Put the parts of a layer together again as rows with ascending global columns. Pure.

    Parameters
    ----------
    layer : this rank's share.
    own : global ids of the rank's own rows of x^{k-1}.
    values : (nnz,) in the order of parts.
    bias : (n_out,).

    Returns
    -------
    The rows, in local order.
    """
    row_of, columns = weight_places(layer, own)
    order = np.lexsort((columns, row_of))
    counts = np.bincount(row_of, minlength=layer.n_out)
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Rows(indptr, columns[order].astype(np.int32), values[order], bias)


def weight_places(layer: LayerShard, own: Ints) -> tuple[Ints, Ints]:
    """Return local row and global column of each weight, core part first, then by source. Pure.

    Parameters
    ----------
    layer : this rank's share.
    own : global ids of the rank's own rows of x^{k-1}.

    Returns
    -------
    Two arrays (nnz,).
    """
    parts = (layer.core, *layer.parts)
    columns_of = np.concatenate([own, *layer.needs])
    columns = columns_of[np.concatenate([part.indices for part in parts])]
    row_of = np.concatenate([np.repeat(part.rows, np.diff(part.indptr)) for part in parts])
    return row_of, columns


def _in_file_order(comm: MPI.Comm, rows: Rows, ids: Ints, n_rows: int) -> Iterator[Rows]:
    """Yield on rank 0 the layer's rows, range by range; on the others nothing of use."""
    lengths, (columns, data), (bias, numbers) = route_rows(
        comm,
        np.diff(rows.indptr),
        block_owners(n_rows, comm.size)[ids],
        [rows.indices, rows.data],
        [rows.bias, ids],
    )
    order = np.argsort(numbers)
    gather = item_order(lengths, order)
    indptr = np.concatenate(([0], np.cumsum(lengths[order])))
    mine = Rows(indptr, columns[gather], data[gather], bias[order])
    if comm.rank:
        _send_rows(comm, mine)
        return
    yield mine
    for source in range(1, comm.size):
        start, stop = owned_range(n_rows, comm.size, source)
        yield _receive_rows(comm, source, stop - start, mine)


def _send_rows(comm: MPI.Comm, rows: Rows) -> None:
    for array in (rows.indptr, rows.indices, rows.data, rows.bias):
        kind = from_numpy_dtype(array.dtype)
        comm.Send([np.ascontiguousarray(array), kind], 0, Tag.OUTPUT)


def _receive_rows(comm: MPI.Comm, source: int, n_rows: int, like: Rows) -> Rows:
    indptr = np.empty(n_rows + 1, np.int64)
    comm.Recv(indptr, source, Tag.OUTPUT)
    indices = np.empty(int(indptr[-1]), np.int32)
    data, bias = np.empty(len(indices), like.data.dtype), np.empty(n_rows, like.bias.dtype)
    for array in (indices, data, bias):
        comm.Recv(array, source, Tag.OUTPUT)
    return Rows(indptr, indices, data, bias)
