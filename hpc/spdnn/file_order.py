"""The order of a rank's numbers in its checkpoint: by global ids, so that any rank can read them.

Layer by layer, rows by their global ids, the weights of a row by their global columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hpc.io.shard import Shard
from hpc.spdnn.save import weight_places

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]
Places = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Rows:
    """Which rows a file has.

    counts : (L,) rows of each layer. ids : (rows,) global, ascending in each layer.
    lengths : (rows,) weights of each row.
    """

    counts: Longs
    ids: Ints
    lengths: Ints

    @cached_property
    def bounds(self) -> Longs:
        """Where each layer's rows begin, (L + 1,)."""
        return np.concatenate(([0], np.cumsum(self.counts))).astype(np.int64)

    @cached_property
    def starts(self) -> Longs:
        """Where each row's weights begin, (rows + 1,)."""
        return np.concatenate(([0], np.cumsum(self.lengths, dtype=np.int64))).astype(np.int64)


@dataclass(frozen=True)
class FileOrder:
    """A rank's rows, and where what lies in the file lies in memory.

    weights : (nnz,) the weight at place i of the file is the rank's number weights[i], counted
        through all layers. biases : (rows,) the same of the biases.
    """

    rows: Rows
    weights: Places
    biases: Places


def file_order(shard: Shard) -> FileOrder:
    """Return the order of a rank's share. Pure.

    Parameters
    ----------
    shard : Shard
        Its rows may lie in any order.

    Returns
    -------
    FileOrder
        Places are int32 where there are fewer than 2³¹, else int64.
    """
    counts, ids, lengths = [], [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    weights, biases = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    n_weights = n_rows = 0
    for k, layer in enumerate(shard.layers):
        row_of, columns = weight_places(layer, shard.ids[k])
        own = shard.ids[k + 1]
        order = np.argsort(own)
        weights.append(np.lexsort((columns, own[row_of])) + n_weights)
        biases.append(order + n_rows)
        ids.append(own[order])
        lengths.append(np.bincount(row_of, minlength=layer.n_out)[order].astype(np.int32))
        counts.append(layer.n_out)
        n_weights, n_rows = n_weights + len(row_of), n_rows + layer.n_out
    rows = Rows(np.array(counts, np.int64), np.concatenate(ids), np.concatenate(lengths))
    return FileOrder(rows, _narrow(weights), _narrow(biases))


def _narrow(places: list[Longs]) -> Places:
    """Return all places, in 32 bits where they fit."""
    whole = np.concatenate(places)
    return whole.astype(np.int32) if len(whole) < 1 << 31 else whole
