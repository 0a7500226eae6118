"""Checkpoints of a relay: every rank keeps its blocks as they are after the same round.

Ranks of a relay are some rounds apart, and stay so: what they agree on is told as many rounds
ahead, and each copies its blocks when it gets to the round. Nothing under way needs keeping, as
inputs are functions of the round.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.comm.checkpoint_start import find_start, folder_for
from hpc.comm.checkpointing import Checkpoints, NoCheckpoints, Stopped, kept
from hpc.comm.interrupt import stop_requests
from hpc.comm.world import together
from hpc.io.checkpoint import Index
from hpc.io.checkpoint_options import CheckpointOptions
from hpc.pipebd.best_states import BestStates
from hpc.pipebd.checkpoint_state import KeptStates, read_losses, read_state
from hpc.pipebd.history import History
from hpc.pipebd.losses_seen import LossLog
from hpc.pipebd.schedule import Group, Schedule, parse
from hpc.pipebd.training_work import TrainingWork
from hpc.pipebd.work import BlockWork, Round

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Keeping:
    """What is asked for, and what the run is.

    Attributes
    ----------
    options : CheckpointOptions
        Where, how often, how many.
    run : dict of str to Any
        As JSON has it, see `io.checkpoint.Index`; that of the first rank counts.
    """

    options: CheckpointOptions
    run: dict[str, Any]


class Results(Protocol):
    """What a run keeps from epoch to epoch.

    Attributes
    ----------
    history : History
        Losses and accuracies.
    best : BestStates
        Of this rank's blocks.
    """

    history: History
    best: BestStates


class Progress:
    """Where a run begins, and what is done after each of its rounds.

    Attributes
    ----------
    epoch : int
        The first that has rounds left, or has not been ended.
    done : int
        Rounds done before, by an earlier run.
    log : LossLog or None
        Of the epoch under way.
    keeper : Checkpoints or NoCheckpoints
        Told of every round.
    """

    def __init__(self) -> None:
        self.epoch = self.done = 0
        self.log: LossLog | None = None
        self.keeper: Checkpoints | NoCheckpoints = NoCheckpoints()
        self._skipped, self._losses = 0, np.empty((0, 0))

    def start_at(self, epoch: int, skipped: int, done: int, losses: Array) -> None:
        """Begin in an epoch of which some rounds are done.

        Parameters
        ----------
        epoch : int
            From 0.
        skipped : int
            Rounds of the epoch that are done.
        done : int
            Rounds of the run that are done.
        losses : (skipped, works) float64 array
            This rank's, of the epoch's rounds.
        """
        self.epoch, self.done = epoch, done
        self._skipped, self._losses = skipped, losses

    def begin(self, log: LossLog) -> int:
        """Say that an epoch begins.

        Parameters
        ----------
        log : LossLog
            Of the epoch; gets the losses of the rounds that are done.

        Returns
        -------
        int
            How many of its rounds are done: 0 but for the first epoch of a run that goes on.
        """
        self.log, skipped, self._skipped = log, self._skipped, 0
        if skipped:
            log.restore(self._losses)
        return skipped

    def round_done(self, turn: Round) -> None:
        """Say that a round is done. Collective where checkpoints are kept.

        Parameters
        ----------
        turn : Round
            Called for each in order, on all ranks.

        Raises
        ------
        Stopped : on all ranks after the same round, when the run was asked to stop.
        """
        self.keeper.step_done(turn.number + 1)


def writer_of(group: Group, block: int) -> int:
    """Return which rank of a group keeps the state of a block: they take turns. Pure.

    Parameters
    ----------
    group : Group
        That runs the block.
    block : int
        One of the group's.

    Returns
    -------
    int
        In the run, which is also the number of its part.
    """
    return group.ranks[(block - group.blocks.start) % group.size]


def parts_of(group: Group, place: int, size: int) -> Sequence[int]:
    """Return whose losses of before a rank takes over. Pure.

    Parameters
    ----------
    group : Group
        That ran the block when the checkpoint was made.
    place : int
        Of the rank in its group now, from 0.
    size : int
        Of that group.

    Returns
    -------
    sequence of int
        Ranks of before, which are numbers of parts; over all places each is in one.
    """
    return group.ranks[place::size]


@contextlib.contextmanager
def relay_progress(
    keeping: Keeping | None,
    comm: MPI.Comm,
    schedule: Schedule,
    queue: int,
    transport: Transport,
    works: Sequence[BlockWork],
    results: Any,
) -> Iterator[Progress]:
    """Yield where the run begins; blocks and results are as they were there. Collective.

    Parameters
    ----------
    keeping : Keeping or None
        None keeps nothing, and then nothing here is collective.
    comm : MPI.Comm
        Of the run.
    schedule : Schedule
        That is run; may be another than the checkpoint's.
    queue : int
        Input buffers of a rank, which bounds how many rounds ranks are apart.
    transport : Transport
        Of this rank; its receives are withdrawn when the run stops.
    works : sequence of BlockWork
        Of this rank; `TrainingWork` where checkpoints are kept.
    results : Results
        Of this rank, where checkpoints are kept.

    Yields
    ------
    Progress
        To be told of every epoch and round.

    Raises
    ------
    AgreedError : on all ranks: see `find_start`; a part that cannot be read.
    Stopped : on all ranks, when the run was asked to stop.
    """
    progress = Progress()
    if keeping is None:
        yield progress
        return
    blocks = _Blocks(schedule, comm.rank, cast(Sequence[TrainingWork], works), results)
    with stop_requests() as asked, folder_for(comm, keeping.options.root):
        start = find_start(comm, keeping.options, keeping.run)
        with together(comm):
            if start.index is not None:
                blocks.load(start.index, progress)
        source = blocks.source(progress)
        delay = (len(schedule.groups) - 1) * (queue + 1) + 1
        progress.keeper = Checkpoints(
            comm, keeping.options, keeping.run, start, source, asked, delay, transport.wait
        )
        try:
            with kept(progress.keeper):
                yield progress
        except Stopped:
            transport.finish()
            transport.abandon()
            raise


class _Blocks:
    """The blocks of this rank, as a checkpoint has them."""

    def __init__(
        self, schedule: Schedule, rank: int, works: Sequence[TrainingWork], results: Results
    ) -> None:
        self._schedule, self._rank, self._works = schedule, rank, works
        self._results = results
        index = schedule.group_of(rank)
        self._group = None if index is None else schedule.groups[index]

    def source(self, progress: Progress) -> KeptStates:
        """Return what is kept, as it then is."""

        def position() -> tuple[dict[str, Any], dict[str, Array]]:
            assert progress.log is not None
            numbers = {
                "epoch": progress.log.rounds[0].epoch,
                "done": progress.log.done,
                "schedule": self._schedule.text,
            }
            return numbers, self._results.history.kept()

        part = None if self._group is None else self._rank
        return KeptStates(part, self._states, lambda: self._losses(progress), position)

    def _states(self) -> dict[str, Any]:
        best, found = self._results.best, {}
        for work in self._works:
            assert self._group is not None
            block = work.index
            if writer_of(self._group, block) != self._rank:
                continue
            found[f"{block}.state"] = work.step.state_dict()
            if block in best.state:
                found[f"{block}.best"] = {
                    "loss": best.loss[block],
                    "epoch": best.epoch[block],
                    "state": best.state[block],
                }
        return found

    def _losses(self, progress: Progress) -> dict[str, Array]:
        assert progress.log is not None
        values = progress.log.so_far()
        return {f"{work.index}.losses": values[:, i] for i, work in enumerate(self._works)}

    def load(self, index: Index, progress: Progress) -> None:
        """Take this rank's blocks and the results from a checkpoint.

        Raises
        ------
        FormatError : a part that cannot be read.
        """
        position = index.position
        groups = parse(position["schedule"]).groups
        before = {block: group for group in groups for block in group.blocks}
        epoch, done = position["epoch"], position["done"]
        losses = np.zeros((done, len(self._works)))
        for i, work in enumerate(self._works):
            assert self._group is not None
            group, place = before[work.index], self._rank - self._group.ranks.start
            self._load_block(index, writer_of(group, work.index), work)
            parts = parts_of(group, place, self._group.size)
            losses[:, i] = read_losses(index, parts, f"{work.index}.losses", done)
        self._results.history.restore(index.arrays)
        progress.start_at(epoch, done, index.step, losses)

    def _load_block(self, index: Index, part: int, work: TrainingWork) -> None:
        block, best = work.index, self._results.best
        work.step.load_state_dict(read_state(index, part, f"{block}.state"))
        found = read_state(index, part, f"{block}.best")
        if found is not None:
            best.loss[block], best.epoch[block] = found["loss"], found["epoch"]
            best.state[block] = found["state"]
