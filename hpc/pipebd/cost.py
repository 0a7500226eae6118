"""What a group of a schedule costs: seconds per step and bytes per rank. Pure.

Definition: a group's time is the sum over its blocks of teacher, student and gradient
all-reduce at its largest share, over the speed of its slowest rank, plus the time to receive
(block 0: to load) the batch over its size. The step takes as long as the slowest group
(paper: pipe-bd, automatic hybrid distribution).

With architecture rounds every k steps (NAS) each weight step also bears 1/k of a round:
teacher, relay and the student's `architecture_s`; gradients of alpha are too few to count.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hpc.pipebd.profile_data import Profile, RankProfile, at_share, at_size
from hpc.pipebd.schedule import Group, Schedule
from hpc.pipebd.shares import largest_share

Array = npt.NDArray[np.float64]


def teacher_s(profile: Profile, block: int, share: int) -> float:
    """Return the seconds of a block's teacher per weight step at a share, at speed 1.

    Parameters
    ----------
    profile : Profile
        Of the workload; its architecture rounds are spread over the weight steps.
    block : int
        From 0.
    share : int
        Samples of a rank, at least 1.

    Returns
    -------
    float
        Infinite where the share does not fit a device, see `at_share`.
    """
    return at_share(profile.blocks[block].teacher_s, share) * _rounds(profile)


def student_s(profile: Profile, block: int, share: int) -> float:
    """Return the seconds of a block's student per weight step at a share, at speed 1.

    Parameters
    ----------
    profile : Profile
        Of the workload; its architecture rounds are spread over the weight steps.
    block : int
        From 0.
    share : int
        Samples of a rank, at least 1.

    Returns
    -------
    float
        Forward, backward and update. Infinite where the share does not fit a device.
    """
    weights_s = at_share(profile.blocks[block].student_s, share)
    architecture = profile.blocks[block].architecture_s
    if architecture is None or profile.architecture_every is None:
        return weights_s
    return weights_s + at_share(architecture, share) / profile.architecture_every


def arrival_s(profile: Profile, block: int) -> float:
    """Return the seconds per weight step until the whole batch's input of a block is there.

    Parameters
    ----------
    profile : Profile
        Of the workload; its architecture rounds are spread over the weight steps.
    block : int
        From 0.

    Returns
    -------
    float
        Loading for block 0, the relay from the block before for any other.
    """
    once = profile.relay_s[block] if block else profile.load_s
    return once * _rounds(profile)


def _rounds(profile: Profile) -> float:
    """Return how many passes of the teacher a weight step takes."""
    return 1 + (1 / profile.architecture_every if profile.architecture_every else 0)


@dataclass(frozen=True)
class CostTable:
    """A profile, laid out for `len(speed)` ranks: entry [b, d-1] is block b split over d ranks.

    Attributes
    ----------
    profile : Profile
        With an entry for each of the N ranks.
    teacher, student, reduce : (B, N) float64 array
        Seconds at the largest share, at speed 1.
    memory : (B, N) float64 array
        Bytes at the largest share. Infinite where infeasible.
    arrival : (B,) float64 array
        Seconds, see `arrival_s`.
    speed, limit : (N,) float64 array
        Per rank: relative speed; bytes it may take, infinite where unknown.
    """

    profile: Profile
    teacher: Array
    student: Array
    reduce: Array
    memory: Array
    arrival: Array
    speed: Array
    limit: Array

    @cached_property
    def work(self) -> Array:
        """Seconds per block and group size, (B, N), infinite where a share is infeasible."""
        total: Array = self.teacher + self.student + self.reduce
        return np.where(np.isfinite(self.memory), total, np.inf)

    @property
    def n_ranks(self) -> int:
        """N, idle ranks included."""
        return len(self.speed)

    def group_s(self, group: Group) -> float:
        """Return the seconds of a group per step; infinite where a share is infeasible.

        Parameters
        ----------
        group : Group
            Of at most N ranks.

        Returns
        -------
        float
            By the definition at the top of this module.
        """
        work = np.cumsum(self.work[_span(group.blocks), group.size - 1])[-1]
        slowest = self.speed[_span(group.ranks)].min()
        return float(work / slowest + self.arrival[group.blocks.start] / group.size)

    def memory_bytes(self, group: Group) -> float:
        """Return the bytes on the first rank of a group: its blocks at the largest share.

        Parameters
        ----------
        group : Group
            Of at most N ranks.

        Returns
        -------
        float
            Infinite where a share is infeasible.
        """
        return float(self.memory[_span(group.blocks), group.size - 1].sum())

    def misfit(self, schedule: Schedule) -> str | None:
        """Return why a schedule cannot run here: a share or memory that does not fit; or None.

        Parameters
        ----------
        schedule : Schedule
            Of at most N ranks.

        Returns
        -------
        str or None
            Of the first group that does not: a block that fits no device at its share, or the
            memory that all its blocks need and the least limit of its ranks.
        """
        for group in schedule.groups:
            share = largest_share(self.profile.batch, group.size)
            for block in group.blocks:
                if not math.isfinite(self.work[block, group.size - 1]):
                    return f"block {self.named(block)} does not fit a device at a share of {share}"
            need, limit = self.memory_bytes(group), self.limit[_span(group.ranks)].min()
            if need > limit:
                return (
                    f"group {group} needs {readable_bytes(need)} on a rank at a share of "
                    f"{share}, the limit is {readable_bytes(limit)}"
                )
        return None

    def named(self, block: int) -> str:
        """Return a block's number and name.

        Parameters
        ----------
        block : int
            From 0.

        Returns
        -------
        str
            For messages: '3 (block3)'.
        """
        return f"{block} ({self.profile.blocks[block].name})"


def _span(numbers: range) -> slice:
    return slice(numbers.start, numbers.stop)


def cost_table(profile: Profile, n_ranks: int, memory_limit: float | None = None) -> CostTable:
    """Lay a profile out for `n_ranks` ranks.

    Parameters
    ----------
    profile : Profile
        As measured, on any number of ranks.
    n_ranks : int
        N, at least 1.
    memory_limit : float, optional
        Bytes per rank, beside what the profile says that a rank has.

    Returns
    -------
    CostTable
        Its `limit` is the lower of the two, infinite without either.

    Raises
    ------
    InputError : as `Profile.for_ranks`.
    """
    fitted = profile.for_ranks(n_ranks)
    blocks, sizes = range(len(fitted.blocks)), range(1, n_ranks + 1)
    shares = [largest_share(fitted.batch, d) for d in sizes]
    memory = _array([[at_share(b.memory_bytes, s) for s in shares] for b in fitted.blocks])
    memory[:, fitted.batch :] = np.inf  # more ranks than samples
    return CostTable(
        fitted,
        teacher=_array([[teacher_s(fitted, b, s) for s in shares] for b in blocks]),
        student=_array([[student_s(fitted, b, s) for s in shares] for b in blocks]),
        reduce=_array([[at_size(fitted.allreduce_s, d, b) for d in sizes] for b in blocks]),
        memory=memory,
        arrival=_array([arrival_s(fitted, b) for b in blocks]),
        speed=_array([rank.speed for rank in fitted.ranks]),
        limit=_array([_limit(rank, memory_limit) for rank in fitted.ranks]),
    )


def _array(values: Sequence[object]) -> Array:
    return np.array(values, np.float64)


def _limit(rank: RankProfile, memory_limit: float | None) -> float:
    known = [limit for limit in (rank.memory_bytes, memory_limit) if limit is not None]
    return min(known, default=math.inf)


def readable_bytes(count: float) -> str:
    """Return bytes in the largest binary unit that leaves at least 1: '1.5 GiB'.

    Parameters
    ----------
    count : float
        Bytes.

    Returns
    -------
    str
        One decimal; none for plain bytes. TiB is the largest unit.
    """
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB"):
        if count < 1024 or unit == "TiB":
            break
        count /= 1024
    return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
