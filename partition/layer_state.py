"""A layer whose rows, or whose columns, change owners one at a time. Pure but for its own state."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from hpc.io.halo import needing_ranks
from hpc.io.machine import Numbers
from partition.hypergraph import Blocks, Longs
from partition.load import Load, layer_load
from partition.objective import Marginals


class RowSide:
    """The layer below a level: its rows are the level's neurons.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR array of ones
        The layer.
    above : (n_out,) int32 array
        Owners of the rows when the search begins.
    below : (n_in,) int32 array
        Owners of the columns; they stay.
    parts : int
        P.
    """

    def __init__(self, pattern: sparse.csr_array, above: Blocks, below: Blocks, parts: int) -> None:
        self._pattern, self._below = pattern, below
        self._load = layer_load(pattern, above, below, parts)
        self._count = _counts(pattern, above, parts)

    def load(self) -> Load:
        """Return the layer's load as it is now; it changes with the next move.

        Returns
        -------
        Load
            The object itself, not a copy.
        """
        return self._load

    def changes(self, owners: Blocks, weights: Longs, price: Marginals) -> Numbers:
        """Return about what it adds to the potential to move each row to each part.

        Parameters
        ----------
        owners : (n_out,) int32 array
            Of the rows, as they are now.
        weights : (n_out,) int64 array
            Of the rows.
        price : Marginals
            Of the layer's load as it is now.

        Returns
        -------
        (n_out, P) float64 array
            Of rows by parts; for the part they are in, meaningless.
        """
        pattern, rows = self._pattern, np.arange(len(owners))
        come = pattern @ ((self._count == 0) * price.more[self._below])
        go = pattern @ ((self._count == 1) * price.less[self._below])
        held = weights[:, None] * price.edge[None, :] + price.row[None, :]
        change: Numbers = come + held - (go + held)[rows, owners][:, None]
        return change

    def move(self, row: int, old: int, new: int) -> None:
        """Give a row to another part.

        Parameters
        ----------
        row : int
            0..n_out-1.
        old, new : int
            The part it is in, and another.
        """
        pattern, load, count = self._pattern, self._load, self._count
        columns = pattern.indices[pattern.indptr[row] : pattern.indptr[row + 1]]
        count[columns, old] -= 1
        gone = self._below[columns[count[columns, old] == 0]]
        fresh = self._below[columns[count[columns, new] == 0]]
        count[columns, new] += 1
        np.subtract.at(load.links[:, old], gone[gone != old], 1)
        np.add.at(load.links[:, new], fresh[fresh != new], 1)
        load.edges[[old, new]] += np.array([-len(columns), len(columns)])
        load.rows[[old, new]] += np.array([-1, 1])


class ColumnSide:
    """The layer above a level: its columns are the level's neurons.

    Parameters
    ----------
    pattern : (n_out, n_in) CSR array of ones
        The layer.
    above : (n_out,) int32 array
        Owners of the rows; they stay.
    below : (n_in,) int32 array
        Owners of the columns when the search begins.
    parts : int
        P.
    """

    def __init__(self, pattern: sparse.csr_array, above: Blocks, below: Blocks, parts: int) -> None:
        self._load = layer_load(pattern, above, below, parts)
        self._needs = _counts(pattern, above, parts) > 0

    def load(self) -> Load:
        """Return the layer's load as it is now; it changes with the next move.

        Returns
        -------
        Load
            The object itself, not a copy.
        """
        return self._load

    def changes(self, owners: Blocks, weights: Longs, price: Marginals) -> Numbers:
        """Return about what it adds to the potential to move each column to each part.

        Parameters
        ----------
        owners : (n_in,) int32 array
            Of the columns, as they are now.
        weights : (n_in,) int64 array
            Not looked at: columns weigh nothing in this layer.
        price : Marginals
            Of the layer's load as it is now.

        Returns
        -------
        (n_in, P) float64 array
            Of columns by parts; for the part they are in, meaningless.
        """
        needs = self._needs.astype(np.float64)
        go = (needs * price.less[owners]).sum(axis=1)
        change: Numbers = needs @ price.more.T - go[:, None]
        return change

    def move(self, column: int, old: int, new: int) -> None:
        """Give a column to another part.

        Parameters
        ----------
        column : int
            0..n_in-1.
        old, new : int
            The part it is in, and another.
        """
        needs = self._needs[column].astype(np.int64)
        self._load.links[old] -= needs
        self._load.links[new] += needs
        self._load.links[[old, new], [old, new]] = 0


def _counts(pattern: sparse.csr_array, above: Blocks, parts: int) -> Longs:
    """Return how many rows of each part need each column: (n_in, P)."""
    indptr = pattern.indptr.astype(np.int64)
    counts = needing_ranks(indptr, pattern.indices, above, pattern.shape[1], parts)
    return counts.T.toarray().astype(np.int64)
