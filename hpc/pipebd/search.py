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
    """Return the schedule of the least predicted step time. Paper: Pipe-BD, Algorithm 1, line 4.

    Parameters
    ----------
    table : CostTable
        Costs for all ranks of the job.

    Returns
    -------
    Schedule
        For all N ranks; those that no better schedule uses are idle.

    Raises
    ------
    InputError : none fits; says which block needs how much memory at which share.
    """
    times = _GroupTimes(table, table.n_ranks)
    least = _least_step(times)
    used = int(least.argmin())  # the first, so the fewest ranks
    if not math.isfinite(least[used]):
        raise InputError(_why_none(table, table.n_ranks))
    return _schedule(times, used, float(least[used]))


def whole_batch(table: CostTable) -> Schedule:
    """Return the best schedule without splitting a batch: one rank a group, as many as can be.

    Paper: pipe-bd, the naive distribution, which has C(B-1, N-1) choices.

    Parameters
    ----------
    table : CostTable
        Costs for all ranks of the job.

    Returns
    -------
    Schedule
        min(B, N) groups of one rank; further ranks are idle.

    Raises
    ------
    InputError : as `search`.
    """
    times = _GroupTimes(table, 1)
    used = min(len(table.work), table.n_ranks)
    step_s = _least_step(times)[used]
    if not math.isfinite(step_s):
        raise InputError(_why_none(table, 1))
    return _schedule(times, used, float(step_s))


class _GroupTimes:
    """The time of every group, worked out for one last rank at a time."""

    def __init__(self, table: CostTable, max_size: int) -> None:
        self.table = table
        self._max_size = max_size
        self._work, self._memory = _running_sums(table.work), _running_sums(table.memory)

    def ending_at(self, q: int) -> Array:
        """Return C[i, j, p], (B, B, q) float64: seconds of blocks i..j on ranks p..q-1.

        Infinite where i > j, a share or the memory does not fit, or the group is too large.
        """
        size = np.arange(q, 0, -1)
        times = self._work[:, :, size - 1] / _least_from(self.table.speed[:q])
        times += self.table.arrival[:, None, None] / size
        fits = self._memory[:, :, size - 1] <= _least_from(self.table.limit[:q])
        return np.where(fits & (size <= self._max_size), times, np.inf)


def _running_sums(values: Array) -> Array:
    """Return S[i, j, d], the sum of rows i..j of a (B, N) array; infinite where i > j."""
    sums = np.full((len(values), *values.shape), np.inf)
    for i in range(len(values)):
        sums[i, i:] = np.cumsum(values[i:], axis=0)
    return sums


def _least_from(values: Array) -> Array:
    """Return at p the least of values p..end."""
    return np.minimum.accumulate(values[::-1])[::-1]


def _least_step(times: _GroupTimes) -> Array:
    """Return the least step time of all blocks on the first q ranks, (N+1,) float64."""
    n_blocks, n_ranks = times.table.work.shape
    best = np.full((n_blocks + 1, n_ranks + 1), np.inf)
    best[0, 0] = 0
    for q in range(1, n_ranks + 1):
        steps = np.maximum(best[:-1, None, :q], times.ending_at(q))
        best[1:, q] = steps.min(axis=(0, 2))
    return best[-1]


def _schedule(times: _GroupTimes, used: int, step_s: float) -> Schedule:
    """Return the schedule on `used` ranks, no group above `step_s`: fewest groups, most even."""
    n_blocks, n_ranks = times.table.work.shape
    best = np.full((n_blocks + 1, used + 1), np.inf)
    best[0, 0] = 0
    before = np.zeros((n_blocks + 1, used + 1), np.int64)
    for q in range(1, used + 1):
        seconds = times.ending_at(q)
        relative = np.where(seconds <= step_s, seconds / (step_s or 1), np.inf)
        # A group more outweighs any sum of squares.
        prices = best[:-1, None, :q] + (1 + n_blocks + relative**2)
        by_end = prices.swapaxes(0, 1).reshape(n_blocks, -1)
        before[1:, q] = by_end.argmin(axis=1)
        best[1:, q] = by_end.min(axis=1)
    return Schedule(_traced(before, n_blocks, used), n_ranks - used)


def _traced(before: npt.NDArray[np.int64], j: int, q: int) -> tuple[Group, ...]:
    """Return the groups that end at block j and rank q; before[j, q] says where the last begins."""
    groups: list[Group] = []
    while j:
        i, p = divmod(int(before[j, q]), q)
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
