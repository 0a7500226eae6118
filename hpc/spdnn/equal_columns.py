"""Columns (inputs) that are equal on every rank, found by hashes and confirmed exactly.

A layer treats every column alike, so columns that are equal stay equal, to the bit,
and one of them stands for all from here on. Columns of zeros are equal columns.
A column's hash is the sum over the ranks of what it hashes to on each; sums of some
panels are reduced while the next are hashed.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.spdnn.compiled import loops
from hpc.spdnn.merge import Merge, kept_size, merge_of
from hpc.spdnn.panels import flat

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]
Bits = npt.NDArray[np.unsignedinteger]
WORTHWHILE = 0.85
"""Columns are gathered only if at most this share of them stays."""
SAMPLE = 8
"""One in so many rows is looked at first: columns that differ there differ."""
CHUNK = 16
"""Panels whose hashes are reduced while the next ones' are computed."""


class EqualColumns:
    """Finds equal columns of a level that is cut across the ranks of `comm`.

    Parameters
    ----------
    comm : MPI.Comm
        The ranks of one replica.
    dtype : numpy.dtype
        float32 or float64: of the levels.
    """

    def __init__(self, comm: MPI.Comm, dtype: np.dtype[np.floating]) -> None:
        self._comm, self._dtype = comm, dtype
        self._bits = np.dtype(f"u{dtype.itemsize}")
        self._loops = loops("hpc.spdnn.column_loops", dtype)

    def find(self, own: Floats, ids: Ints) -> Merge | None:
        """Return what to merge, or None where it is not worthwhile. Collective.

        Parameters
        ----------
        own : (panels, n_own, width) float array
            Own rows of a level; panels and width are the same on all ranks.
        ids : (n_own,) int32 array
            Their global numbers.

        Returns
        -------
        Merge or None
            The same on all ranks; None: more than WORTHWHILE of the columns would stay.
        """
        panels, _, width = own.shape
        if panels * width < 2:
            return None
        if self._all_differ(own, ids):
            return None
        facts = self._all_facts(own, row_keys(ids, self._dtype))
        first = self._first(facts)
        if kept_size(_n_distinct(first)) > WORTHWHILE * panels * width:
            return None
        self._separate_different(own, facts, first)
        return merge_of(first)

    def gather(self, source: Floats, kept: Ints, target: Floats, start: int) -> None:
        """Copy columns side by side into another array. Local.

        Parameters
        ----------
        source : (panels, rows, width) float array
            Own rows of a level.
        kept : (m,) int32 array
            Columns of it, counted through all panels.
        target : (panels, n_ext, width) float array
            Overwritten in its first `rows` rows; its panels are others than the source's.
        start : int
            First column of the target to overwrite.
        """
        _, rows, width = source.shape
        self._loops.take_columns(
            *self._flat_bits(source), width, kept, *self._flat_bits(target), target.shape[2],
            start, rows,
        )  # fmt: skip

    def _flat_bits(self, array: Floats) -> tuple[Bits, int]:
        numbers, pitch = flat(array)
        return numbers.view(self._bits), pitch

    def _all_differ(self, own: Floats, ids: Ints) -> bool:
        """Say whether too few columns are equal in the first of the rows. Collective."""
        some = len(ids) // SAMPLE
        sample = self._facts(own[:, :some], row_keys(ids[:some], self._dtype), (0, len(own), 1))
        self._comm.Allreduce(MPI.IN_PLACE, sample)
        return _n_distinct(self._first(sample)) > WORTHWHILE * sample.shape[1]

    def _all_facts(self, own: Floats, keys: Floats) -> Bits:
        panels = len(own)
        pieces, requests = [], []
        for first in range(0, panels, CHUNK):
            piece = self._facts(own, keys, (first, min(first + CHUNK, panels), 1))
            requests.append(self._comm.Iallreduce(MPI.IN_PLACE, piece))
            pieces.append(piece)
        MPI.Request.Waitall(requests)
        return np.concatenate(pieces, axis=1) if len(pieces) > 1 else pieces[0]

    def _facts(self, own: Floats, keys: Floats, panels: tuple[int, int, int]) -> Bits:
        """Return two hashes and, third, on how many ranks anything is set: (3, columns)."""
        _, n_rows, width = own.shape
        columns = len(range(*panels)) * width
        facts = np.empty((3, columns), self._dtype)
        numbers, pitch = flat(own)
        self._loops.column_facts(
            numbers, pitch, n_rows, width, keys, panels, facts.reshape(-1), columns
        )
        bits: Bits = facts.view(self._bits)
        np.not_equal(bits[2], 0, out=bits[2], casting="unsafe")
        return bits

    def _first(self, facts: Bits) -> Ints:
        columns = facts.shape[1]
        first = np.empty(columns, np.int32)
        table = np.empty(1 << (2 * columns - 1).bit_length(), np.int32)
        self._loops.find_first(facts, table, first)
        return first

    def _separate_different(self, own: Floats, facts: Bits, first: Ints) -> None:
        """Let every column that is not truly equal to its first stand for itself."""
        _, n_rows, width = own.shape
        different = np.empty(len(first), np.uint8)
        self._loops.find_different(*self._flat_bits(own), n_rows, width, facts, first, different)
        self._comm.Allreduce(MPI.IN_PLACE, different, op=MPI.MAX)
        alone = np.flatnonzero(different)
        first[alone] = alone


def row_keys(ids: Ints, dtype: np.dtype[np.floating]) -> Floats:
    """Return two random factors in 0.5..1.5 for each row, (2 n,), from its global id alone.

    Parameters
    ----------
    ids : (n,) int32 array
        Global numbers of the rows.
    dtype : numpy.dtype
        Of the result.

    Returns
    -------
    (2 n,) array
        The first factors of all rows, then the second.
    """
    numbers = np.concatenate([2 * ids.astype(np.uint64), 2 * ids.astype(np.uint64) + np.uint64(1)])
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        numbers += np.uint64(0x9E3779B97F4A7C15)
        numbers ^= numbers >> np.uint64(shift)
        numbers *= np.uint64(factor)
    return (numbers.astype(np.float64) / 2**64 + 0.5).astype(dtype)


def _n_distinct(first: Ints) -> int:
    return int(np.count_nonzero(first == np.arange(len(first), dtype=np.int32)))
