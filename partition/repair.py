"""Make a cut that is too uneven even, at the least added volume. Pure.

Partitioners miss the balance now and then. Rows leave a part that is too heavy
one at a time; where no part has room for a whole row, two rows change places.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import sparse

from partition.balance import spread
from partition.hypergraph import FREE, Blocks, Hypergraph, Longs, part_loads

STALE_SHARE = 8
"""One in so many of the rows that must leave a part go before their costs are counted anew."""


def repair(graph: Hypergraph, blocks: Blocks, limits: Longs) -> Blocks:
    """Return a cut in which no part is heavier than its limit, or the most even one found.

    Parameters
    ----------
    graph : Hypergraph
        All its free vertices weigh 1 or more.
    blocks : (n,) int32 array
        Part of every vertex; left as it is.
    limits : (P,) int64 array
        The most weight of free vertices that each part may hold.

    Returns
    -------
    (n,) int32 array
        Part of every vertex; fixed ones stay.
    """
    mended = blocks.copy()
    loads = part_loads(graph, mended, len(limits))
    while (loads > limits).any():
        heavy = int((loads - limits).argmax())
        if not (
            _move(graph, mended, loads, heavy, limits) or _swap(graph, mended, loads, heavy, limits)
        ):
            return _more_even(graph, mended, limits)
    return mended


def move_costs(graph: Hypergraph, blocks: Blocks, vertices: Longs, parts: int) -> Longs:
    """Return what it adds to the connectivity cut to move each vertex to each part.

    Parameters
    ----------
    graph : Hypergraph
        m nets over n vertices.
    blocks : (n,) int32 array
        Part of every vertex.
    vertices : (v,) int64 array
        One or more, all in the same part.
    parts : int
        P.

    Returns
    -------
    (v, P) int64 array
        Negative where the cut shrinks; meaningless for the part they are in.
    """
    nets_of = graph.incidence().tocsc()[:, vertices].T.tocsr()
    nets = np.unique(nets_of.indices)
    weighted = sparse.csr_array(
        (graph.net_weight[nets_of.indices], nets_of.indices, nets_of.indptr), shape=nets_of.shape
    )[:, nets]
    member = sparse.csr_array(
        (np.ones(len(blocks), np.int64), (np.arange(len(blocks)), blocks)),
        shape=(len(blocks), parts),
    )
    pins_in = (graph.incidence()[nets] @ member).tocsc()
    alone = pins_in[:, [int(blocks[vertices[0]])]].toarray().ravel() == 1
    touched = (weighted @ (pins_in > 0).astype(np.int64)).toarray()
    all_nets: Longs = np.asarray(weighted.sum(axis=1))
    return all_nets[:, None] - touched - (weighted @ alone.astype(np.int64))[:, None]


def _move(graph: Hypergraph, blocks: Blocks, loads: Longs, heavy: int, limits: Longs) -> bool:
    """Move the rows that cost least for the weight they take away; False if none fits."""
    rows = _rows_of(graph, blocks, heavy)
    weight = graph.vertex_weight[rows]
    fits = loads[None, :] + weight[:, None] <= limits
    if not fits.any():
        return False
    excess = int(loads[heavy] - limits[heavy])
    cost = move_costs(graph, blocks, rows, len(loads))
    price = np.where(fits, cost / np.minimum(weight, excess)[:, None], np.inf)
    target = price.argmin(axis=1)
    order = np.argsort(price.min(axis=1), kind="stable")
    for at in order[: 1 + int(excess / weight.mean()) // STALE_SHARE]:
        if loads[target[at]] + weight[at] <= limits[target[at]]:
            _reassign(graph, blocks, loads, int(rows[at]), int(target[at]))
    return True


def _swap(graph: Hypergraph, blocks: Blocks, loads: Longs, heavy: int, limits: Longs) -> bool:
    """Exchange a row of the heavy part for a lighter one; False if no exchange helps."""
    out = np.unique(graph.vertex_weight[_rows_of(graph, blocks, heavy)])
    others = np.flatnonzero((graph.fixed == FREE) & (blocks != heavy))
    kinds = np.unique(np.stack((blocks[others], graph.vertex_weight[others])), axis=1)
    change = out[:, None] - kinds[1][None, :]
    fits = (change > 0) & (loads[kinds[0]][None, :] + change <= limits[kinds[0]][None, :])
    if not fits.any():
        return False
    relief = np.where(fits, np.minimum(change, loads[heavy] - limits[heavy]), 0)
    at, kind = np.unravel_index(int(relief.argmax()), relief.shape)
    part = int(kinds[0, kind])
    leaving = _cheapest(graph, blocks, heavy, int(out[at]), part, len(loads))
    coming = _cheapest(graph, blocks, part, int(kinds[1, kind]), heavy, len(loads))
    _reassign(graph, blocks, loads, leaving, part)
    _reassign(graph, blocks, loads, coming, heavy)
    return True


def _cheapest(
    graph: Hypergraph, blocks: Blocks, part: int, weight: int, target: int, parts: int
) -> int:
    """Return the row of `part` with this weight that costs least to move to `target`."""
    rows = _rows_of(graph, blocks, part)
    rows = rows[graph.vertex_weight[rows] == weight]
    return int(rows[move_costs(graph, blocks, rows, parts)[:, target].argmin()])


def _rows_of(graph: Hypergraph, blocks: Blocks, part: int) -> npt.NDArray[np.int64]:
    return np.flatnonzero((blocks == part) & (graph.fixed == FREE))


def _reassign(graph: Hypergraph, blocks: Blocks, loads: Longs, row: int, part: int) -> None:
    loads[blocks[row]] -= graph.vertex_weight[row]
    loads[part] += graph.vertex_weight[row]
    blocks[row] = part


def _more_even(graph: Hypergraph, blocks: Blocks, limits: Longs) -> Blocks:
    """Return `blocks`, or the assignment by weight alone where that is more even."""
    free = graph.fixed == FREE
    even = blocks.copy()
    even[free] = spread(graph.vertex_weight[free], limits / limits.sum())
    excess = [
        (part_loads(graph, candidate, len(limits)) - limits).max() for candidate in (blocks, even)
    ]
    return even if excess[1] < excess[0] else blocks
