"""How heavy a part may be, and what balance the rows of a layer allow at all. Pure.

`shares` is always (P,), what part of the work each part takes; their sum is 1.
"""

from __future__ import annotations

import heapq

import numpy as np
import numpy.typing as npt

from partition.hypergraph import Blocks, Longs

TIE = 1e-6
"""Of a mean row: what a row weighs besides its weights, where these are dealt out."""
ROUNDING = 1e-9
"""Keeps (1 + ε) · share from falling just below a whole number."""

Shares = npt.NDArray[np.float64]


def equal_shares(parts: int) -> Shares:
    """Return the shares of equal machines.

    Parameters
    ----------
    parts : int
        P, 1 or more.

    Returns
    -------
    (P,) float64 array
        1 / P each.
    """
    return np.full(parts, 1 / parts)


def least_load(weights: Longs, parts: int) -> int:
    """Return a load that the heaviest part reaches whatever the assignment is.

    Of the j·P + 1 heaviest rows, some part holds j + 1, so at least the j + 1 lightest of
    them; j = 0 is the heaviest row alone. Every load is a multiple of the greatest common
    divisor. For rows of equal weight the bound is exact.

    Parameters
    ----------
    weights : (n,) int64 array
        Of the rows, 0 or more.
    parts : int
        P, 1 or more.

    Returns
    -------
    int
        In the unit of the weights; 0 for no rows.
    """
    falling = np.sort(weights)[::-1]
    total = np.concatenate(([0], np.cumsum(falling)))
    j = np.arange(-(-len(falling) // parts))
    bounds = total[j * parts + 1] - total[j * parts - j]
    bound = int(max(bounds.max(initial=0), -(-int(total[-1]) // parts)))
    unit = max(int(np.gcd.reduce(weights)), 1)
    return -(-bound // unit) * unit


def asked_limits(weights: Longs, shares: Shares, epsilon: float) -> Longs:
    """Return what each part may weigh by what was asked: (1 + ε) · its share, in whole weights.

    Paper: sparse-dnn-partitioning, its equation 2, there for equal shares.

    Parameters
    ----------
    weights : (n,) int64 array
        Of the rows.
    shares : (P,) float64 array
        Of the parts.
    epsilon : float
        Imbalance ε, 0 or more.

    Returns
    -------
    (P,) int64 array
        Rounded down.
    """
    limits: Longs = ((1 + epsilon) * int(weights.sum()) * shares + ROUNDING).astype(np.int64)
    return limits


def part_limits(weights: Longs, shares: Shares, epsilon: float) -> Longs:
    """Return the most weight that each part may hold.

    What was asked, and more only where the rows do not allow it: for equal machines where
    `least_load` says so, else where dealing out the heaviest first does not manage.

    Parameters
    ----------
    weights : (n,) int64 array
        Of the rows.
    shares : (P,) float64 array
        Of the parts.
    epsilon : float
        Imbalance ε, 0 or more.

    Returns
    -------
    (P,) int64 array
        Nowhere below `asked_limits`.
    """
    asked = asked_limits(weights, shares, epsilon)
    if is_equal(shares):
        return np.maximum(asked, least_load(weights, len(shares)))
    loads = np.bincount(spread(weights, shares), weights=weights, minlength=len(shares))
    return asked if (loads <= asked).all() else np.maximum(asked, loads.astype(np.int64))


def fits(weights: Longs, limits: Longs) -> bool:
    """Say whether the limits leave room for these weights, as far as one can tell quickly.

    Parameters
    ----------
    weights : (n,) int64 array
        Of the rows.
    limits : (P,) int64 array
        The most that each part may hold.

    Returns
    -------
    bool
        For equal limits, whether `least_load` is within them, which is necessary; else whether
        dealing out the heaviest first stays within them, which is sufficient.
    """
    if (limits == limits[0]).all():
        return least_load(weights, len(limits)) <= limits[0]
    loads = np.bincount(spread(weights, limits / limits.sum()), weights, len(limits))
    return bool((loads <= limits).all())


def is_equal(shares: Shares) -> bool:
    """Say whether all machines are equal.

    Parameters
    ----------
    shares : (P,) float64 array
        Of the parts.

    Returns
    -------
    bool
        Whether all shares are the same number, bit for bit.
    """
    return bool((shares == shares[0]).all())


def spread(weights: Longs, shares: Shares) -> Blocks:
    """Assign rows for balance alone: heaviest first, each to where it is done soonest (LPT).

    Parameters
    ----------
    weights : (n,) int64 array
        Of the rows, 0 or more.
    shares : (P,) float64 array
        Of the parts.

    Returns
    -------
    (n,) int32 array
        Part of each row; the number of rows breaks ties, so that weightless rows spread too.
    """
    order = np.argsort(-weights, kind="stable")
    blocks = np.empty(len(weights), np.int32)
    if not is_equal(shares):
        return _spread_unequally(weights, shares, order, blocks)
    loads = [(0, 0, part) for part in range(len(shares))]
    for row in order:
        load, rows, part = loads[0]
        blocks[row] = part
        heapq.heapreplace(loads, (load + int(weights[row]), rows + 1, part))
    return blocks


def _spread_unequally(weights: Longs, shares: Shares, order: Longs, blocks: Blocks) -> Blocks:
    cost = 1 / (shares * len(shares))
    row_cost = TIE * max(float(weights.mean()), 1.0) if len(weights) else 0.0
    loads = np.zeros(len(shares))
    for row in order:
        step = int(weights[row]) + row_cost
        part = int(((loads + step) * cost).argmin())
        blocks[row] = part
        loads[part] += step
    return blocks


def imbalance(loads: Longs, shares: Shares) -> Shares:
    """Return how much heavier than its share the heaviest part is: max load / share - 1.

    Parameters
    ----------
    loads : (..., P) int64 array
        Weight of each part.
    shares : (P,) float64 array
        Of the parts.

    Returns
    -------
    (...,) float64 array
        0 is perfect; 0 too where there is no load.
    """
    total = loads.sum(axis=-1)
    heaviest: Shares = (loads / shares).max(axis=-1) / np.maximum(total, 1) - 1
    return np.where(total > 0, heaviest, 0.0)


def shortfall(weights: Longs, owners: Blocks, shares: Shares, epsilon: float) -> str | None:
    """Say why the balance asked for is missed.

    Parameters
    ----------
    weights : (n_out,) int64 array
        Nonzeros of each row of a layer.
    owners : (n_out,) int32 array
        Owner of each row.
    shares : (P,) float64 array
        Of the parts.
    epsilon : float
        Imbalance ε that was asked for.

    Returns
    -------
    str or None
        One line, imbalance and reason; None where the balance is met.
    """
    parts = len(shares)
    loads = np.bincount(owners, weights=weights, minlength=parts).astype(np.int64)
    asked = asked_limits(weights, shares, epsilon)
    if (loads <= asked).all():
        return None
    row, room = int(weights.argmax()), int(asked.max())
    if weights[row] > room:
        reason = f"row {row} alone has {weights[row]} weights, a part may hold {room}"
    elif is_equal(shares) and (part_limits(weights, shares, epsilon) > asked).any():
        reason = f"its rows do not divide more evenly over {parts} parts"
    else:
        reason = f"no more even cut was found; a part may hold {room} weights"
    return f"imbalance {imbalance(loads, shares):.4f} where {epsilon:g} was asked: {reason}"
