"""A program that sleeps for the times of a profile and relays messages of the real sizes.

So that many ranks can be run truthfully on few cores: what they would compute takes no core,
what they send each other is real. Time is spent where `cost` books it: the batch is loaded at
the feed, an all-reduce takes as long as profiled or as the real one, whichever is longer; a
relay takes what it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from time import perf_counter, sleep

import torch

from hpc.pipebd.profile_data import Profile, RankProfile, Shares, at_share, at_size
from hpc.pipebd.program import Boundary
from hpc.pipebd.reducer import Reducer
from hpc.pipebd.shares import largest_share
from hpc.pipebd.work import Round

SLICE_S = 1e-3
"""Longest sleep in one go: in between messages are moved."""
CARRIED_S = 5e-3
"""Most of what was slept too long that is made up for."""
GAP_S = 5e-4
"""Longest time between two sleeps that is the host's own work and not a wait for somebody."""


class Sleeper:
    """Spends time asleep, exactly on average: what one sleep takes too long the next is shorter.

    So is what the host does between two sleeps: a device would compute meanwhile.

    Parameters
    ----------
    poll : callable
        Moves messages; called between slices of at most `SLICE_S`.
    """

    def __init__(self, poll: Callable[[], None]) -> None:
        self._poll = poll
        self._overslept, self._ended = 0.0, -1.0

    def spend(self, seconds: float) -> None:
        """Return after `seconds`, less what is to be made up for.

        Parameters
        ----------
        seconds : float
            >= 0.
        """
        begin = perf_counter()
        gap = begin - self._ended
        owed = self._overslept + (gap if gap < GAP_S else 0.0)
        self.until(begin + seconds - owed)

    def until(self, deadline: float) -> None:
        """Return when `perf_counter` says so.

        Parameters
        ----------
        deadline : float
            Seconds, of `perf_counter`; one that has passed is not waited for.
        """
        self._poll()
        while (left := deadline - perf_counter()) > 0:
            sleep(min(left, SLICE_S))
            self._poll()
        self._overslept, self._ended = min(-left, CARRIED_S), deadline - left


class EmulatedWork:
    """A block that takes as long as a profile says. See `work.BlockWork`.

    Parameters
    ----------
    profile : Profile
        Of all blocks.
    block : int
        This one, from 0.
    rank : RankProfile
        Whose speed counts.
    reducer : Reducer
        Over the ranks of the group.
    sleeper : Sleeper
        Of this rank.
    """

    def __init__(
        self, profile: Profile, block: int, rank: RankProfile, reducer: Reducer, sleeper: Sleeper
    ) -> None:
        self.index, self.name = block, profile.blocks[block].name
        self._profile, self._block = profile, profile.blocks[block]
        self._speed, self._reducer, self._sleeper = rank.speed, reducer, sleeper
        share = largest_share(profile.batch, reducer.size)
        self._output = torch.zeros((share, *output(profile, block).shape), dtype=torch.uint8)
        self._gradient = torch.zeros(self._block.gradient_bytes // 4)
        self._architecture = False

    def teacher(self, x: torch.Tensor) -> torch.Tensor:
        """Sleep; return zeros, always the same, which nobody writes to.

        Parameters
        ----------
        x : (n_share, ...) tensor
            Only its length counts.

        Returns
        -------
        (n_share, bytes) uint8 tensor
            Of the real output's size.
        """
        self._spend(self._block.teacher_s, len(x))
        return self._output[: len(x)]

    def begin(self, turn: Round) -> None:
        """Note which kind of round it is.

        Parameters
        ----------
        turn : Round
            The one that begins.
        """
        self._architecture = turn.architecture

    def student(self, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Sleep; the loss is 0.

        Parameters
        ----------
        x, target : (n_share, ...) tensor
            Only the first one's length counts.

        Returns
        -------
        scalar tensor
            0.
        """
        weights, search = self._block.student_s, self._block.architecture_s
        self._spend(search if self._architecture and search else weights, len(x))
        return torch.zeros(())

    def reduce(self) -> None:
        """Sum as many bytes as the gradient has, and sleep for the rest of its time. Collective."""
        took = at_size(self._profile.allreduce_s, self._reducer.size, self.index) / self._speed
        deadline = perf_counter() + took
        self._reducer.sum(self._gradient)
        self._sleeper.until(deadline)

    def update(self) -> None:
        """Do nothing: it is part of the student's time."""

    def kept(self) -> Iterable[torch.Tensor]:
        """Return nothing: there are no weights.

        Returns
        -------
        tuple
            Empty.
        """
        return ()

    def _spend(self, times: Shares, share: int) -> None:
        self._sleeper.spend(at_share(times, share) / self._speed)


def output(profile: Profile, block: int) -> Boundary:
    """Return what a block gives of one sample: so many bytes.

    Parameters
    ----------
    profile : Profile
        Of all blocks.
    block : int
        From 0.

    Returns
    -------
    Boundary
        (bytes,) uint8, rounded up.
    """
    return Boundary((-(-profile.blocks[block].output_bytes // profile.batch),), torch.uint8)


class EmulatedProgram:
    """What a profile describes, as a program for one rank. See `program.Program`.

    Parameters
    ----------
    profile : Profile
        With an entry for each rank of the job, see `Profile.for_ranks`.
    rank : int
        This one, whose speed counts.
    poll : callable
        Moves this rank's messages (`Transport.poll`).
    """

    device = torch.device("cpu")

    def __init__(self, profile: Profile, rank: int, poll: Callable[[], None]) -> None:
        self.n_blocks, self.batch = len(profile.blocks), profile.batch
        self._profile, self._rank = profile, profile.ranks[rank]
        self._sleeper = Sleeper(poll)

    def work(self, block: int, reducer: Reducer) -> EmulatedWork:
        """Return a block that sleeps.

        Parameters
        ----------
        block : int
            0..B-1.
        reducer : Reducer
            Over the ranks of the group.

        Returns
        -------
        EmulatedWork
            All of a rank share its sleeper.
        """
        return EmulatedWork(self._profile, block, self._rank, reducer, self._sleeper)

    def feed(self, rows: range) -> EmulatedFeed:
        """Return inputs that take their part of the time to load a batch.

        Parameters
        ----------
        rows : range
            Of 0..batch-1: this rank's share.

        Returns
        -------
        EmulatedFeed
            Of as many samples.
        """
        part = len(rows) / self.batch
        return EmulatedFeed(len(rows), self._profile.load_s * part, self._sleeper)

    def boundary(self, block: int) -> Boundary:
        """Return bytes: of the block before, or one for the images of block 0.

        Parameters
        ----------
        block : int
            0..B-1.

        Returns
        -------
        Boundary
            (bytes,) uint8.
        """
        return output(self._profile, block - 1) if block else Boundary((1,), torch.uint8)


class EmulatedFeed:
    """Batches of nothing that take time to load. See `program.Feed`.

    Parameters
    ----------
    share : int
        Samples of this rank.
    load_s : float
        Seconds for each.
    sleeper : Sleeper
        Of this rank.
    """

    def __init__(self, share: int, load_s: float, sleeper: Sleeper) -> None:
        self._batch = torch.zeros((share, 1), dtype=torch.uint8)
        self._load_s, self._sleeper = load_s, sleeper

    def inputs(self, rounds: Iterable[Round]) -> Iterator[torch.Tensor]:
        """Yield the same share again and again, asleep before each.

        Parameters
        ----------
        rounds : iterable of Round
            Only their number counts.

        Yields
        ------
        (share, 1) uint8 tensor
            Zeros.
        """
        for _ in rounds:
            self._sleeper.spend(self._load_s)
            yield self._batch
