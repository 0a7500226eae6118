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
    indptr : (m+1,) int32. indices : int32, columns in x_ext numbering. data : weights.
    """

    source: int
    rows: Ints
    indptr: Ints
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
    needs: tuple[Ints, ...]


def owned_ids(owners: Ints, rank: int) -> Ints:
    """Return the neurons of a level that `rank` owns: its local numbering.

    Parameters
    ----------
    owners : (n,) int32 array
        Owner of each neuron.
    rank : int
        From 0.

    Returns
    -------
    (n_loc,) int32 array
        Global ids, ascending.
    """
    return np.flatnonzero(owners == rank).astype(np.int32)


def cut_layer(indptr: Longs, columns: Ints, data: Floats, owners_in: Ints, rank: int) -> CutLayer:
    """Split a rank's rows of a layer by the owners of their columns.

    Parameters
    ----------
    indptr : (rows + 1,) int64 array
        Row pointers of the rank's rows.
    columns : (nnz,) int32 array
        Global, sorted in each row.
    data : (nnz,) float array
        The weights.
    owners_in : (n_in,) int32 array
        Owner of each column.
    rank : int
        The rank whose rows these are.

    Returns
    -------
    CutLayer
        With columns in x_ext numbering; copies.
    """
    own = owned_ids(owners_in, rank)
    halo = _halo_ids(columns, owners_in, rank)
    local = np.empty(len(owners_in), np.int32)
    local[own] = np.arange(len(own), dtype=np.int32)
    local[halo] = len(own) + np.arange(len(halo), dtype=np.int32)
    row_of = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    source_of = owners_in[columns]
    order = np.argsort(source_of.astype(_narrow(owners_in)), kind="stable")
    counts = np.bincount(source_of, minlength=rank + 1)
    pieces = np.split(order, np.cumsum(counts)[:-1])

    def part(source: int, rows: Ints) -> Part:
        chosen = pieces[source]
        return _part(source, rows, row_of[chosen], local[columns[chosen]], data[chosen])

    core = part(rank, np.arange(len(indptr) - 1, dtype=np.int32))
    sources = [source for source in np.flatnonzero(counts).tolist() if source != rank]
    parts = tuple(part(source, _distinct(row_of[pieces[source]])) for source in sources)
    needs = np.split(halo, np.flatnonzero(np.diff(owners_in[halo])) + 1) if len(halo) else []
    return CutLayer(core, parts, tuple(needs))


def _halo_ids(columns: Ints, owners_in: Ints, rank: int) -> Ints:
    """Return the columns that other ranks own, by owner, then ascending."""
    needed = np.zeros(len(owners_in), bool)
    needed[columns] = True
    ids = np.flatnonzero(needed & (owners_in != rank)).astype(np.int32)
    return ids[np.argsort(owners_in[ids], kind="stable")]


def _narrow(owners: Ints) -> np.dtype[np.integer]:
    """Return a type that holds every rank: up to 16 bits numpy sorts by radix."""
    return np.min_scalar_type(int(owners.max()))


def _distinct(ascending: Ints) -> Ints:
    return ascending[np.concatenate(([True], np.diff(ascending) > 0))]


def _part(source: int, rows: Ints, row_of: Ints, columns: Ints, data: Floats) -> Part:
    """Return a part from its weights' rows (ascending) and x_ext columns."""
    starts = np.searchsorted(row_of, rows)
    return Part(source, rows, np.append(starts, len(row_of)).astype(np.int32), columns, data)


def needing_ranks(
    indptr: Longs, columns: Ints, owners_out: Ints, n_in: int, parts: int
) -> sparse.csr_array:
    """Return the pattern of which rank has a row with a weight in which column.

    Parameters
    ----------
    indptr : (n_out + 1,) int64 array
        Row pointers of the layer.
    columns : (nnz,) int32 array
        Of its weights.
    owners_out : (n_out,) int32 array
        Owner of each row.
    n_in : int
        Columns that there are.
    parts : int
        Ranks, P.

    Returns
    -------
    (P, n_in) csr_array of float32
        In how many of its rows a rank has such a weight; no entry where in none.
    """
    n_out = len(owners_out)
    ones = np.ones(max(n_out, len(columns)), np.float32)
    gather = sparse.csr_array((ones[:n_out], (owners_out, np.arange(n_out))), shape=(parts, n_out))
    pattern = sparse.csr_array((ones[: len(columns)], columns, indptr), shape=(n_out, n_in))
    return sparse.csr_array(gather @ pattern)


def layer_pairs(
    indptr: Longs, columns: Ints, owners_out: Ints, owners_in: Ints, parts: int
) -> tuple[Longs, Longs, Longs]:
    """Return every word of one layer as (sender, receiver, column).

    Column j is sent by its owner to each other rank that has a row with column j. Sorted by
    receiver, then sender, then column: the order on the wire.

    Parameters
    ----------
    indptr : (n_out + 1,) int64 array
        Row pointers of the layer.
    columns : (nnz,) int32 array
        Of its weights.
    owners_out, owners_in : (n_out,) and (n_in,) int32 array
        Owner of each row, and of each column.
    parts : int
        Ranks, P.

    Returns
    -------
    sender, receiver, column : (words,) int64 array
        Of one input, forward.
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
    """Return what each rank sends for one layer, forward, for one input, and holds of it.

    Paper: the connectivity cut (its equation 1), counted by sending rank.

    Parameters
    ----------
    indptr : (n_out + 1,) int64 array
        Row pointers of the layer.
    columns : (nnz,) int32 array
        Of its weights.
    owners_out, owners_in : (n_out,) and (n_in,) int32 array
        Owner of each row, and of each column.
    parts : int
        Ranks, P.

    Returns
    -------
    words, messages, edges : (P,) int64 array
        Activations and messages sent, weights held, by rank.
    """
    edges = np.bincount(owners_out, weights=np.diff(indptr), minlength=parts).astype(np.int64)
    needs = needing_ranks(indptr, columns, owners_out, len(owners_in), parts).tocoo()
    sender, receiver = owners_in[needs.col].astype(np.int64), needs.row.astype(np.int64)
    remote = sender != receiver
    links = np.bincount((sender * parts + receiver)[remote], minlength=parts * parts)
    links = links.reshape(parts, parts)
    return links.sum(axis=1), (links > 0).sum(axis=1), edges
