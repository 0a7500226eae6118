"""Blocks packed onto ranks by cost: the layerwise-scheduling baseline (LS). Pure.

Paper: pipe-bd, section II-B, its reference [7]; longest processing time first.
"""

from __future__ import annotations

from collections.abc import Sequence


def longest_first(costs: Sequence[float], speeds: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    """Return the blocks of each rank, ascending.

    The most costly block goes first, each to the rank that would finish it first; ties go to
    the lower block and the lower rank. A rank may get none.

    Parameters
    ----------
    costs : sequence of float
        (B,) seconds per block at speed 1.
    speeds : sequence of float
        (N,) relative speed per rank, > 0.

    Returns
    -------
    tuple of tuple of int
        Per rank its blocks; each block is on one.
    """
    packed: list[list[int]] = [[] for _ in speeds]
    load = [0.0] * len(speeds)
    for block in sorted(range(len(costs)), key=lambda block: -costs[block]):
        ends = [(work + costs[block]) / speed for work, speed in zip(load, speeds, strict=True)]
        rank = ends.index(min(ends))
        packed[rank].append(block)
        load[rank] += costs[block]
    return tuple(tuple(sorted(blocks)) for blocks in packed)
