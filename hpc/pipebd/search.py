"""The best schedule, exactly, by dynamic programming over (blocks, ranks). Pure.

The space is that of the paper (pipe-bd, automatic hybrid distribution), which searches it
exhaustively: neighbouring blocks on neighbouring ranks. With C(i..j, p..q) the time of blocks
i..j on ranks p..q, F[j, q] = min over (i, p) of max(F[i, p], C(i..j-1, p..q-1)) is the step
time of the first j blocks on the first q ranks. Trailing ranks may stay idle.

Among schedules of the least step time: the one of fewest ranks, then of fewest groups, then
the most even (least sum of squares of group times).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from hpc.io.errors import InputError
from hpc.pipebd.cost import CostTable, readable_bytes
from hpc.pipebd.schedule import Group, Schedule
from hpc.pipebd.shares import largest_share

Array = npt.NDArray[np.float64]


def search(table: CostTable) -> Schedule:
    """Return the schedule of the least predicted step time.

    Parameters
    ----------
    table : costs for all ranks of the job.

    Raises
    ------
    InputError : none fits; says which block needs how much memory at which share.
    """
    times = group_times(table, table.n_ranks)
    least = _least_step(times)[-1]
    used = int(least.argmin())  # the first, so the fewest ranks
    if not math.isfinite(least[used]):
        raise InputError(_why_none(table, table.n_ranks))
    return _schedule(times, used, float(least[used]))


def whole_batch(table: CostTable) -> Schedule:
    """Return the best schedule without splitting a batch: one rank a group, as many as can be.

    Paper: pipe-bd, the naive distribution, which has C(B-1, N-1) choices.

    Raises
    ------
    InputError : as `search`.
    """
    times = group_times(table, 1)
    used = min(len(table.work), table.n_ranks)
    step_s = _least_step(times)[-1, used]
    if not math.isfinite(step_s):
        raise InputError(_why_none(table, 1))
    return _schedule(times, used, float(step_s))


def group_times(table: CostTable, max_size: int) -> Array:
    """Return C[i, j, p, q], (B, B, N, N) float64: seconds of blocks i..j on ranks p..q.

    Infinite where i > j, p > q, a share or the memory does not fit, or a group is larger
    than `max_size`.
    """
    n_ranks = table.n_ranks
    work, memory = _running_sums(table.work), _running_sums(table.memory)
    first, last = np.indices((n_ranks, n_ranks))
    size = np.maximum(last - first + 1, 1)
    speed, limit = _span_minima(table.speed), _span_minima(table.limit)
    times = work[:, :, size - 1] / speed + table.arrival[:, None, None, None] / size
    fits = (memory[:, :, size - 1] <= limit) & (first <= last)
    return np.where(fits & (size <= max_size), times, np.inf)


def _running_sums(values: Array) -> Array:
    """Return S[i, j, d], the sum of rows i..j of a (B, N) array; infinite where i > j."""
    n_blocks = len(values)
    sums = np.full((n_blocks, *values.shape), np.inf)
    for i in range(n_blocks):
        sums[i, i:] = np.cumsum(values[i:], axis=0)
    return sums


def _span_minima(values: Array) -> Array:
    """Return M[p, q], the least of values p..q; 1 where p > q."""
    minima = np.ones((len(values), len(values)))
    for p in range(len(values)):
        minima[p, p:] = np.minimum.accumulate(values[p:])
    return minima


def _least_step(times: Array) -> Array:
    """Return F[j, q], (B+1, N+1) float64: the least step time of j blocks on q ranks."""
    n_blocks, n_ranks = times.shape[0], times.shape[2]
    best = np.full((n_blocks + 1, n_ranks + 1), np.inf)
    best[0, 0] = 0
    for j in range(1, n_blocks + 1):
        for q in range(1, n_ranks + 1):
            ends_here = np.maximum(best[:j, :q], times[:j, j - 1, :q, q - 1])
            best[j, q] = ends_here.min()
    return best


def _schedule(times: Array, used: int, step_s: float) -> Schedule:
    """Return the schedule on `used` ranks, no group above `step_s`: fewest groups, most even."""
    n_blocks, n_ranks = times.shape[0], times.shape[2]
    relative = np.where(times <= step_s, times / (step_s or 1), np.inf)
    price = 1 + n_blocks + relative**2  # of a group; a group more outweighs any sum of squares
    best = np.full((n_blocks + 1, used + 1), np.inf)
    best[0, 0] = 0
    before: dict[tuple[int, int], tuple[int, int]] = {}
    for j in range(1, n_blocks + 1):
        for q in range(1, used + 1):
            ends_here = best[:j, :q] + price[:j, j - 1, :q, q - 1]
            i, p = divmod(int(ends_here.argmin()), q)
            best[j, q] = ends_here[i, p]
            before[j, q] = i, p
    return Schedule(_traced(before, n_blocks, used), n_ranks - used)


def _traced(before: dict[tuple[int, int], tuple[int, int]], j: int, q: int) -> tuple[Group, ...]:
    """Return the groups that end at (j, q), from where each one's predecessor ends."""
    groups: list[Group] = []
    while j:
        i, p = before[j, q]
        groups.insert(0, Group(range(i, j), range(p, q)))
        j, q = i, p
    return tuple(groups)


def _why_none(table: CostTable, max_size: int) -> str:
    """Say which block needs how much memory at which share, where no schedule fits."""
    most = min(max_size, table.n_ranks, table.profile.batch)
    share = largest_share(table.profile.batch, most)
    needs, limit = table.memory[:, most - 1], float(table.limit.max())
    impossible = ~np.isfinite(table.work[:, most - 1])
    block = int(impossible.argmax() if impossible.any() else needs.argmax())
    need, has = readable_bytes(float(needs[block])), readable_bytes(limit)
    if impossible.any():
        why = f"block {table.named(block)} did not fit a device at a share of {share} when profiled"
    elif needs[block] > limit:
        why = f"block {table.named(block)} needs {need} at a share of {share}, a rank has {has}"
    else:
        why = (
            "its blocks fit one by one but not together; the largest, "
            f"block {table.named(block)}, needs {need} of {has} at a share of {share}"
        )
    return (
        f"no schedule of {len(needs)} blocks over {table.n_ranks} ranks fits: {why}; "
        "use more ranks, a smaller batch or a larger memory limit"
    )
