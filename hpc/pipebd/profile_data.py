"""What a workload costs on a machine: seconds and bytes per block, share and rank. Pure data.

Paper: pipe-bd, automatic hybrid distribution (the profiling function). The file
is in `profile_file`, what follows from a profile in `cost`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hpc.io.errors import InputError

Shares = Mapping[int, float | None]
"""Share size in samples to seconds or bytes; None where the share did not fit the device."""


@dataclass(frozen=True)
class RankProfile:
    """A rank.

    Attributes
    ----------
    speed : float
        Relative, > 0; 1 for the rank that the times are of.
    memory_bytes : float or None
        What it may take; None where unknown.
    """

    speed: float = 1.0
    memory_bytes: float | None = None


@dataclass(frozen=True)
class BlockProfile:
    """A block, at each share size that was measured.

    Attributes
    ----------
    name : str
        For messages and tables.
    teacher_s : Shares
        Seconds of the teacher's forward pass.
    student_s : Shares
        Seconds of the student's forward, backward and update.
    memory_bytes : Shares
        Peak of the two.
    gradient_bytes : int
        Reduced over a group each step.
    output_bytes : int
        Of the whole batch's output, which is relayed.
    architecture_s : Shares or None
        Seconds of the student's part of an architecture round (NAS).
    """

    name: str
    teacher_s: Shares
    student_s: Shares
    memory_bytes: Shares
    gradient_bytes: int
    output_bytes: int
    architecture_s: Shares | None = None


@dataclass(frozen=True)
class Profile:
    """A workload measured on a machine.

    Attributes
    ----------
    batch : samples of a step.
    ranks : an entry for each rank that it was measured on, or is laid out for.
    blocks : in order.
    allreduce_s : group size, from 2, to seconds per block; empty if it was taken on one rank.
    relay_s : per block the seconds to receive the whole batch's input; 0 for block 0.
    load_s : seconds to load a batch.
    architecture_every : weight steps per architecture round; None without a search.
    workload : its label; '' fits any.
    dtype : of the weights.
    machine : host, processor, torch, mpi ... where it was measured.
    steps : that counted, of each measurement; None if not known.
    note : how bytes were counted.
    """

    batch: int
    ranks: tuple[RankProfile, ...]
    blocks: tuple[BlockProfile, ...]
    allreduce_s: Mapping[int, tuple[float, ...]]
    relay_s: tuple[float, ...]
    load_s: float = 0.0
    architecture_every: int | None = None
    workload: str = ""
    dtype: str = ""
    machine: Mapping[str, Any] = field(default_factory=dict)
    steps: int | None = None
    note: str = ""

    def for_ranks(self, n_ranks: int) -> Profile:
        """Return it for `n_ranks` ranks: the first ones, or more that are like the weakest.

        Parameters
        ----------
        n_ranks : at least 1.

        Returns
        -------
        The profile.

        Raises
        ------
        InputError : fewer than one; more than one where no all-reduce was measured.
        """
        if n_ranks < 1:
            raise InputError(f"{n_ranks} ranks; expected at least 1")
        if n_ranks > 1 and not self.allreduce_s:
            raise InputError(
                f"the profile was taken on 1 rank and has no allreduce_s; to plan for {n_ranks} "
                "ranks profile on 2 or more"
            )
        memories = [r.memory_bytes for r in self.ranks if r.memory_bytes is not None]
        weakest = RankProfile(min(r.speed for r in self.ranks), min(memories, default=None))
        further = (weakest,) * (n_ranks - len(self.ranks))
        return replace(self, ranks=self.ranks[:n_ranks] + further)


def at_share(values: Shares, share: int) -> float:
    """Return seconds or bytes at a share: linear between the measured neighbours.

    Below the smallest measured share its value holds, since small shares under-use a device.
    Infinite, that is infeasible, above the largest measured one and where a neighbour is None.

    Parameters
    ----------
    values : by share.
    share : samples, at least 1.

    Returns
    -------
    Seconds or bytes.
    """
    known = sorted(values)
    if share > known[-1]:
        return math.inf
    above = min(size for size in known if size >= share)
    below = max((size for size in known if size <= share), default=above)
    low, high = values[below], values[above]
    if low is None or high is None:
        return math.inf
    if above == below:
        return high
    return low + (high - low) * (share - below) / (above - below)


def at_size(allreduce_s: Mapping[int, tuple[float, ...]], size: int, block: int) -> float:
    """Return the seconds of a block's gradient all-reduce over `size` ranks; 0 over one.

    Linear between the measured sizes; outside them the nearest one's value holds.

    Parameters
    ----------
    allreduce_s : seconds per block, by group size.
    size : of the group, at least 1.
    block : from 0.

    Returns
    -------
    Seconds.
    """
    if size == 1:
        return 0.0
    known = sorted(allreduce_s)
    nearest = min(max(size, known[0]), known[-1])
    return at_share({d: times[block] for d, times in allreduce_s.items()}, nearest)


def check_fits(profile: Profile, where: str, *, workload: str, batch: int, n_blocks: int) -> None:
    """Check that a profile is of this workload and batch. A profile that names none fits any.

    Parameters
    ----------
    profile : that was measured.
    where : begins the message.
    workload : its label.
    batch : samples of a step.
    n_blocks : how many there are.

    Raises
    ------
    InputError : another workload, batch or number of blocks.
    """
    if profile.workload and profile.workload != workload:
        raise InputError(
            f"{where}: profile of workload {profile.workload!r}, the run's is {workload!r}; "
            "profile this one"
        )
    if profile.batch != batch:
        raise InputError(
            f"{where}: profile of batch {profile.batch}, the run's is {batch}; "
            f"use --batch {profile.batch} or profile again"
        )
    if len(profile.blocks) != n_blocks:
        raise InputError(
            f"{where}: profile of {len(profile.blocks)} blocks, the workload has {n_blocks}; "
            "profile this one"
        )
