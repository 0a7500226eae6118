"""How heavy a part may be, and what balance the rows of a layer allow at all. Pure."""

from __future__ import annotations

import heapq

import numpy as np

from partition.hypergraph import Blocks, Longs

ROUNDING = 1e-9
"""Keeps (1 + ε) · mean from falling just below a whole number."""


def least_load(weights: Longs, parts: int) -> int:
    """Return a load that the heaviest part reaches whatever the assignment is.

    Of the j·P + 1 heaviest rows, some part holds j + 1, so at least the j + 1 lightest of
    them; j = 0 is the heaviest row alone. For rows of equal weight the bound is exact.
    """
    falling = np.sort(weights)[::-1]
    total = np.concatenate(([0], np.cumsum(falling)))
    j = np.arange(-(-len(falling) // parts))
    bounds = total[j * parts + 1] - total[j * parts - j]
    return int(max(bounds.max(initial=0), -(-int(total[-1]) // parts)))


def asked_limit(weights: Longs, parts: int, epsilon: float) -> int:
    """Return (1 + ε) · mean load, the paper's equation 2, in whole weights."""
    return int((1 + epsilon) * (int(weights.sum()) / parts) + ROUNDING)


def part_limit(weights: Longs, parts: int, epsilon: float) -> int:
    """Return the most weight that a part may hold.

    What was asked, and more only where `least_load` says that no assignment is that even.
    """
    return max(asked_limit(weights, parts, epsilon), least_load(weights, parts))


def spread(weights: Longs, parts: int) -> Blocks:
    """Assign rows for balance alone: heaviest first, each to the lightest part (LPT).

    Returns
    -------
    (n,) int32 part of each row; the number of rows breaks ties, so that weightless rows
    spread too.
    """
    loads = [(0, 0, part) for part in range(parts)]
    blocks = np.empty(len(weights), np.int32)
    for row in np.argsort(-weights, kind="stable"):
        load, rows, part = loads[0]
        blocks[row] = part
        heapq.heapreplace(loads, (load + int(weights[row]), rows + 1, part))
    return blocks


def shortfall(weights: Longs, owners: Blocks, parts: int, epsilon: float) -> str | None:
    """Say why the balance asked for is missed, or None where it is met.

    weights, owners : (n_out,) nonzeros and owner of each row of a layer.
    """
    heaviest = int(np.bincount(owners, weights=weights, minlength=parts).max())
    asked = asked_limit(weights, parts, epsilon)
    if heaviest <= asked:
        return None
    row = int(weights.argmax())
    imbalance = heaviest * parts / int(weights.sum()) - 1
    if weights[row] > asked:
        reason = f"row {row} alone has {weights[row]} weights, a part may hold {asked}"
    elif least_load(weights, parts) > asked:
        reason = f"its rows do not divide more evenly over {parts} parts"
    else:
        reason = f"no more even cut was found; a part may hold {asked} weights"
    return f"imbalance {imbalance:.4f} where {epsilon:g} was asked: {reason}"
