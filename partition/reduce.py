"""A smaller hypergraph with the same cuts: equal rows merged, equal nets merged. Pure.

Rows in the same nets can sit together at no loss, so they become one weighted
vertex, but never one heavier than balance allows: a class of equal rows becomes
as many vertices as it needs. Nets with the same pins become one weighted net; a
net with one pin can never be cut and vanishes. No loop over pins anywhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from partition.balance import fits
from partition.hypergraph import FREE, Blocks, Hypergraph, Longs

Ints = npt.NDArray[np.integer]


@dataclass(frozen=True)
class Reduced:
    """A reduced hypergraph and the way back.

    vertex_of : (n,) int64, the reduced vertex that holds each vertex of the full one.
    """

    hypergraph: Hypergraph
    vertex_of: Longs

    def expand(self, blocks: Blocks) -> Blocks:
        """Return the part of every full vertex from the parts of the reduced ones.

        Parameters
        ----------
        blocks : (reduced n,) int32 array
            Part of every reduced vertex.

        Returns
        -------
        (n,) int32 array
            Part of every full vertex.
        """
        return blocks[self.vertex_of]


def reduce_hypergraph(full: Hypergraph, limits: Longs) -> Reduced:
    """Merge equal vertices and equal nets of `full` without loss.

    Parameters
    ----------
    full : Hypergraph
        n vertices; fixed ones are not merged.
    limits : (P,) int64 array
        The most weight that each part may hold; merged vertices are kept small enough for every
        part to stay within it.

    Returns
    -------
    Reduced
        The smaller hypergraph, and which of its vertices holds which of `full`.
    """
    cuttable = drop_single_pins(full)
    class_of, first = _vertex_classes(cuttable)
    vertex_of, class_start = split_classes(full.vertex_weight, class_of, limits)
    n_vertices = int(class_start[-1])
    weight = sums(vertex_of, full.vertex_weight, n_vertices)
    fixed = np.full(n_vertices, FREE, np.int32)
    fixed[vertex_of] = full.fixed
    class_nets, classes, net_weight = _class_nets(cuttable, class_of, first)
    start, pins = _expand_pins(class_nets, classes, class_start)
    merged = Hypergraph(start, pins, weight, net_weight, fixed)
    return Reduced(drop_single_pins(merged), vertex_of)


def equal_groups(start: Ints, items: Ints, label: Ints) -> tuple[Longs, Longs]:
    """Group the rows of a ragged array that hold the same items and have equal labels.

    Parameters
    ----------
    start : (n+1,) int array
        Bounds of the rows in `items`.
    items : int array
        Not negative; their order in a row does not matter.
    label : (n,) int array
        Rows of different labels are never in the same group.

    Returns
    -------
    group : (n,) int64 array
        The group of each row, numbered by first occurrence.
    first : (groups,) int64 array
        The first row of each group, ascending.
    """
    keys = (np.diff(start), label, *_digests(start, items))
    order = np.lexsort(keys)
    fresh = np.zeros(len(order), bool)
    fresh[:1] = True
    for key in keys:
        fresh[1:] |= np.diff(key[order]) != 0
    first = order[fresh]
    number = np.argsort(np.argsort(first))
    group = np.empty(len(order), np.int64)
    group[order] = number[np.cumsum(fresh) - 1]
    return group, np.sort(first)


def _digests(start: Ints, items: Ints) -> list[npt.NDArray[np.uint64]]:
    """Return two 64-bit sums of random keys per row: different rows agree by 2^-128."""
    rng = np.random.default_rng(0)
    digests = []
    for _ in range(2):
        keys = rng.integers(1 << 64, size=int(items.max(initial=0)) + 1, dtype=np.uint64)
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(keys[items], dtype=np.uint64)))
        digests.append(sums[start[1:]] - sums[start[:-1]])
    return digests


def drop_single_pins(hypergraph: Hypergraph) -> Hypergraph:
    """Return the hypergraph without the nets that no cut can touch.

    Parameters
    ----------
    hypergraph : Hypergraph
        m nets.

    Returns
    -------
    Hypergraph
        With the nets of two pins or more; the vertices are the same.
    """
    sizes = np.diff(hypergraph.net_start)
    kept = sizes > 1
    return Hypergraph(
        np.concatenate(([0], np.cumsum(sizes[kept]))),
        hypergraph.pins[np.repeat(kept, sizes)],
        hypergraph.vertex_weight,
        hypergraph.net_weight[kept],
        hypergraph.fixed,
    )


def _vertex_classes(hypergraph: Hypergraph) -> tuple[Longs, Longs]:
    """Return the class of each vertex and each class's first: same nets, same weight, free."""
    nets = hypergraph.incidence().tocsc()
    alone = np.where(hypergraph.fixed == FREE, 0, -1 - np.arange(hypergraph.n_vertices))
    label = np.where(alone < 0, alone, hypergraph.vertex_weight)
    return equal_groups(nets.indptr, nets.indices, label)


def split_classes(weight: Longs, class_of: Longs, limits: Longs) -> tuple[Longs, Longs]:
    """Cut classes of equal vertices into merged vertices that leave balance possible.

    Parameters
    ----------
    weight, class_of : (n,) int64 array
        Of the vertices; the members of a class weigh the same.
    limits : (P,) int64 array
        The most weight that each part may hold.

    Returns
    -------
    vertex_of : (n,) int64 array
        The merged vertex of each vertex.
    class_start : (classes+1,) int64 array
        The first merged vertex of each class, and their number.
    """
    count = np.bincount(class_of)
    unit = np.zeros(len(count), np.int64)
    unit[class_of] = weight
    place = _place_in_class(class_of, count)
    heaviest = int(limits.min())
    while True:
        members = np.maximum(heaviest // np.maximum(unit, 1), 1)
        pieces = -(-count // members)
        starts = np.concatenate(([0], np.cumsum(pieces)))
        vertex_of = starts[class_of] + place * pieces[class_of] // count[class_of]
        loads = sums(vertex_of, weight, int(starts[-1]))
        if (members == 1).all() or fits(loads, limits):
            return vertex_of, starts
        heaviest //= 2


def _place_in_class(class_of: Longs, count: Longs) -> Longs:
    """Return 0, 1, 2 ... for the members of each class, in order."""
    order = np.argsort(class_of, kind="stable")
    place = np.empty(len(class_of), np.int64)
    place[order] = np.arange(len(class_of)) - np.repeat(np.cumsum(count) - count, count)
    return place


def merged_nets(start: Longs, pins: Ints, weight: Longs) -> tuple[Longs, Ints, Longs]:
    """Merge the nets that have the same pins.

    Parameters
    ----------
    start : (m+1,) int64 array
        Bounds of the nets in `pins`.
    pins : int array
        Vertices, not negative.
    weight : (m,) int64 array
        Of the nets.

    Returns
    -------
    bounds : (distinct+1,) int64 array
        Of the distinct nets in their pins.
    pins : int array
        Of the distinct nets.
    weight : (distinct,) int64 array
        Summed.
    """
    group, first = equal_groups(start, pins, np.zeros(len(start) - 1, np.int64))
    sizes = np.diff(start)[first]
    bounds = np.concatenate(([0], np.cumsum(sizes)))
    return bounds, pins[ranges(start[first], sizes)], sums(group, weight, len(first))


def _class_nets(hypergraph: Hypergraph, class_of: Longs, first: Longs) -> tuple[Longs, Ints, Longs]:
    """Return the distinct nets over classes: bounds, classes, summed weights."""
    is_first = first[class_of] == np.arange(hypergraph.n_vertices)
    chosen = is_first[hypergraph.pins]  # a net that holds one of a class holds all of it
    before = np.concatenate(([0], np.cumsum(chosen)))
    start, pins = before[hypergraph.net_start], class_of[hypergraph.pins[chosen]]
    return merged_nets(start, pins, hypergraph.net_weight)


def _expand_pins(start: Longs, classes: Ints, class_start: Longs) -> tuple[Longs, Blocks]:
    """Replace each class among the pins by the merged vertices of the class."""
    pieces = np.diff(class_start)[classes]
    pins = ranges(class_start[classes], pieces)
    return np.concatenate(([0], np.cumsum(pieces)))[start], pins.astype(np.int32)


def ranges(first: Longs, lengths: Longs) -> Longs:
    """Return the integers first[i] .. first[i] + lengths[i] - 1 of every i, one after another.

    Parameters
    ----------
    first, lengths : (n,) int64 array
        Of the ranges.

    Returns
    -------
    (sum of lengths,) int64 array
        One range after another.
    """
    shift = np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
    return shift + np.arange(len(shift))


def sums(group: Longs, values: Longs, n_groups: int) -> Longs:
    """Return the sum of the values of each group.

    Parameters
    ----------
    group : (n,) int array
        0..n_groups-1.
    values : (n,) int64 array
        Sums stay exact below 2^53.
    n_groups : int
        Groups, empty ones included.

    Returns
    -------
    (n_groups,) int64 array
        0 for an empty group.
    """
    return np.bincount(group, weights=values, minlength=n_groups).astype(np.int64)
