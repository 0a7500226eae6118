"""Predicted step time and idle share of the schedules and baselines of the paper. Pure.

A step is one batch seen by every block. `relaying` is Pipe-BD under a schedule, with or
without the barrier that decoupled parameter update (DPU) removes; the baselines are
data-parallel (DP) and layerwise scheduling (LS).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hpc.pipebd.bin_packing import longest_first
from hpc.pipebd.cost import CostTable
from hpc.pipebd.schedule import Schedule
from hpc.pipebd.shares import largest_share


@dataclass(frozen=True)
class Prediction:
    """What a step takes.

    Attributes
    ----------
    step_s : float
        Seconds; infinite where nothing fits.
    group_s : tuple of float
        Seconds of a step that each group of the schedule is busy (DP: each block's training pass;
        LS: each rank).
    idle : tuple of float
        Per rank the share of the step, in [0, 1], in which it has nothing to do; waiting for the
        own group's other ranks is not counted.
    misfit : str or None
        Why it cannot run there.
    """

    step_s: float
    group_s: tuple[float, ...]
    idle: tuple[float, ...]
    misfit: str | None = None


def relaying(table: CostTable, schedule: Schedule, barrier: bool = False) -> Prediction:
    """Predict a schedule.

    Without barrier (DPU) the step takes as long as the slowest group. With one (TR) nobody
    starts a step before everybody ended the last, so it takes as long as the first batch through
    an empty pipeline: each group begins when the teachers before it are done and its input
    has arrived, and the last one to finish ends the step. Paper: Pipe-BD, Fig. 3 (b) and (c).

    Parameters
    ----------
    table : CostTable
        Costs for the schedule's ranks.
    schedule : Schedule
        A valid one.
    barrier : bool
        Before the updates.

    Returns
    -------
    Prediction
        `misfit` as `CostTable.misfit` says.
    """
    group_s = tuple(table.group_s(group) for group in schedule.groups)
    ends = _first_batch_ends(table, schedule) if barrier else group_s
    return _prediction(max(ends), group_s, schedule, table.misfit(schedule))


def _first_batch_ends(table: CostTable, schedule: Schedule) -> tuple[float, ...]:
    """Return when each group ends the first batch: teachers of all its blocks, then students."""
    start, ends = 0.0, []
    for group in schedule.groups:
        blocks = slice(group.blocks.start, group.blocks.stop)
        ends.append(start + table.group_s(group))
        slowest = table.speed[group.ranks.start : group.ranks.stop].min()
        start += float(
            table.arrival[group.blocks.start] / group.size
            + table.teacher[blocks, group.size - 1].sum() / slowest
        )
    return tuple(ends)


def _prediction(
    step_s: float, group_s: Sequence[float], schedule: Schedule, misfit: str | None
) -> Prediction:
    busy = [s for s, group in zip(group_s, schedule.groups, strict=True) for _ in group.ranks]
    busy += [0.0] * schedule.idle
    return Prediction(step_s, tuple(group_s), _idle(busy, step_s), misfit)


def _idle(busy: Sequence[float], step_s: float) -> tuple[float, ...]:
    """Return per rank the share of the step that is not busy; a step of no length has none."""
    if not 0 < step_s < np.inf:
        return (0.0,) * len(busy)
    return tuple(1 - s / step_s for s in busy)


def data_parallel(table: CostTable) -> Prediction:
    """Predict DP: block after block on all ranks, the teacher run anew up to each block.

    Training block i costs, at the share of all N ranks, the teachers 0..i, student i, its
    all-reduce, and loading. Paper: Pipe-BD, Fig. 3 (a).

    Parameters
    ----------
    table : CostTable
        Costs for all ranks of the job.

    Returns
    -------
    Prediction
        The step is the sum over the blocks' passes; nobody is idle.
    """
    last = table.n_ranks - 1
    prefix = np.cumsum(table.teacher[:, last])
    work = prefix + table.student[:, last] + table.reduce[:, last]
    phase_s = work / table.speed.min() + table.arrival[0] / table.n_ranks
    step_s = float(phase_s.sum())
    share = largest_share(table.profile.batch, table.n_ranks)
    misfit = _block_misfit(table, last, share, np.full(len(work), table.limit.min()))
    return Prediction(step_s, tuple(map(float, phase_s)), (0.0,) * table.n_ranks, misfit)


def task_s(table: CostTable) -> npt.NDArray[np.float64]:
    """Return the seconds of each block's training as a task of its own (LS), at speed 1: (B,).

    Load the whole batch, run the teachers 0..i, train student i.

    Parameters
    ----------
    table : CostTable
        Costs; only those of one rank count.

    Returns
    -------
    (B,) float64 array
        Seconds a step.
    """
    work = np.cumsum(table.teacher[:, 0]) + table.student[:, 0] + table.arrival[0]
    return np.asarray(work, np.float64)


def layerwise(table: CostTable) -> tuple[tuple[tuple[int, ...], ...], Prediction]:
    """Return the packing of LS (blocks of each rank) and its prediction: the slowest rank.

    Parameters
    ----------
    table : CostTable
        Costs for all ranks of the job.

    Returns
    -------
    packing : tuple of tuple of int
        Per rank its blocks, see `longest_first`.
    prediction : Prediction
        `group_s` is by rank.
    """
    tasks = task_s(table)
    packing = longest_first(tasks.tolist(), table.speed.tolist())
    rank_s = [
        float(tasks[list(blocks)].sum() / speed)
        for blocks, speed in zip(packing, table.speed, strict=True)
    ]
    limits = np.zeros(len(tasks))
    for rank, blocks in enumerate(packing):
        limits[list(blocks)] = table.limit[rank]
    misfit = _block_misfit(table, 0, table.profile.batch, limits)
    step_s = max(rank_s)
    return packing, Prediction(step_s, tuple(rank_s), _idle(rank_s, step_s), misfit)


def _block_misfit(
    table: CostTable, column: int, share: int, limits: npt.NDArray[np.float64]
) -> str | None:
    """Say which block alone does not fit at a share; limits : (B,) bytes."""
    bad = ~np.isfinite(table.work[:, column]) | (table.memory[:, column] > limits)
    if not bad.any():
        return None
    return f"block {table.named(int(bad.argmax()))} does not fit at a share of {share}"
