"""Who needs which activation from whom: the geometry of a row-wise cut. Pure functions.

Paper: sparse-dnn-partitioning, the maps Xsend and Xrecv (its equations 8 and 9).
A rank's `x_ext` is [own rows | halo rows grouped by source rank]; a layer's
weights on a rank are one core part (columns it owns) and one part per source.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import sparse

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Floats = npt.NDArray[np.floating]


@dataclass(frozen=True)
class Traffic:
    """What a plan costs, forward, for one input; each (L, P) int64, by layer and sending rank.

    words : activations sent. messages : messages sent. edges : weights held.
    """

    words: Longs
    messages: Longs
    edges: Longs

    @property
    def imbalance(self) -> Floats:
        """Largest load over the mean load, minus one, per layer: (L,) float64."""
        mean = self.edges.mean(axis=1)
        return self.edges.max(axis=1) / np.where(mean > 0, mean, 1) - np.where(mean > 0, 1, 0)


@dataclass(frozen=True)
class Part:
    """The weights of a rank's rows in the columns that one rank owns, as CSR.

    source : the owner of the columns.
    rows : (m,) int32, local rows with at least one weight here, ascending;
        for the core part every local row.
    indptr : (m+1,) int64. indices : int32, columns in x_ext numbering. data : weights.
    """

    source: int
    rows: Ints
    indptr: Longs
    indices: Ints
    data: Floats


@dataclass(frozen=True)
class CutLayer:
    """One layer's weights on one rank, before anyone has said what to send.

    core : the part of own columns. parts : one per source, source ascending.
    needs : per part the global ids of the halo rows, ascending: the order on the wire.
    """

    core: Part
    parts: tuple[Part, ...]
    needs: tuple[Longs, ...]


def owned_ids(owners: Ints, rank: int) -> Longs:
    """Return the neurons of a level that `rank` owns, ascending: its local numbering."""
    return np.flatnonzero(owners == rank)


def cut_layer(indptr: Longs, columns: Ints, data: Floats, owners_in: Ints, rank: int) -> CutLayer:
    """Split a rank's rows of a layer by the owners of their columns.

    Parameters
    ----------
    indptr, columns, data : the rank's rows as CSR; columns are global, sorted in each row.
    owners_in : (n_in,) owner of each column.
    rank : the rank whose rows these are.
    """
    n_rows = len(indptr) - 1
    row_of = np.repeat(np.arange(n_rows, dtype=np.int32), np.diff(indptr))
    source_of = owners_in[columns]
    own = owned_ids(owners_in, rank)
    core_mask = source_of == rank
    core = _part(
        rank,
        np.arange(n_rows, dtype=np.int32),
        row_of[core_mask],
        np.searchsorted(own, columns[core_mask]),
        data[core_mask],
    )
    order = np.flatnonzero(~core_mask)
    order = order[np.argsort(source_of[order], kind="stable")]
    sources, starts = np.unique(source_of[order], return_index=True)
    parts, needs, offset = [], [], len(own)
    for source, chosen in zip(sources, np.split(order, starts[1:]), strict=False):
        ids, local = np.unique(columns[chosen], return_inverse=True)
        rows = np.unique(row_of[chosen])
        parts.append(
            _part(
                int(source),
                rows,
                np.searchsorted(rows, row_of[chosen]),
                local + offset,
                data[chosen],
            )
        )
        needs.append(ids.astype(np.int64))
        offset += len(ids)
    return CutLayer(core, tuple(parts), tuple(needs))


def _part(
    source: int,
    rows: Ints,
    row_of: npt.NDArray[np.integer],
    columns: npt.NDArray[np.integer],
    data: Floats,
) -> Part:
    counts = np.bincount(row_of, minlength=len(rows))
    indptr = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    return Part(source, rows, indptr, columns.astype(np.int32), np.ascontiguousarray(data))


def needing_ranks(
    indptr: Longs, columns: Ints, owners_out: Ints, n_in: int, parts: int
) -> sparse.csr_array:
    """Return the (P, n_in) pattern of which rank has a row with a weight in which column."""
    n_out = len(owners_out)
    ones = np.ones(max(n_out, len(columns)), np.float32)
    gather = sparse.csr_array((ones[:n_out], (owners_out, np.arange(n_out))), shape=(parts, n_out))
    pattern = sparse.csr_array((ones[: len(columns)], columns, indptr), shape=(n_out, n_in))
    return sparse.csr_array(gather @ pattern)


def layer_pairs(
    indptr: Longs, columns: Ints, owners_out: Ints, owners_in: Ints, parts: int
) -> tuple[Longs, Longs, Longs]:
    """Return every word of one layer as (sender, receiver, column), three (words,) int64 arrays.

    Column j is sent by its owner to each other rank that has a row with column j. Sorted by
    receiver, then sender, then column: the order on the wire.
    """
    pairs = needing_ranks(indptr, columns, owners_out, len(owners_in), parts).tocoo()
    receiver, column = pairs.row.astype(np.int64), pairs.col.astype(np.int64)
    sender = owners_in[column].astype(np.int64)
    remote = np.flatnonzero(receiver != sender)
    order = remote[np.lexsort((column[remote], sender[remote], receiver[remote]))]
    return sender[order], receiver[order], column[order]


def layer_traffic(
    indptr: Longs, columns: Ints, owners_out: Ints, owners_in: Ints, parts: int
) -> tuple[Longs, Longs, Longs]:
    """Return what each rank sends for one layer and holds of it: words, messages, edges, (P,) each.

    Paper: the connectivity cut (its equation 1), counted by sending rank.
    """
    edges = np.bincount(owners_out, weights=np.diff(indptr), minlength=parts).astype(np.int64)
    needs = needing_ranks(indptr, columns, owners_out, len(owners_in), parts).tocoo()
    sender, receiver = owners_in[needs.col].astype(np.int64), needs.row.astype(np.int64)
    remote = sender != receiver
    links = np.bincount((sender * parts + receiver)[remote], minlength=parts * parts)
    links = links.reshape(parts, parts)
    return links.sum(axis=1), (links > 0).sum(axis=1), edges
