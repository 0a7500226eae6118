"""The paper's baselines, which relay nothing: every block is a task of its own.

DP  all ranks train block after block, each on its share of the batch (paper: Fig. 3a).
LS  blocks are packed onto ranks by cost; a rank trains its own one after another.
A task runs the teachers up to its block anew and trains the block for the whole run. Both are
tuned as the relay is: images are loaded in the background, no teacher runs beyond the block
that is trained, gradients are reduced in buckets, a student takes memory for
gradients only once it trains.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from hpc.pipebd.loading import recorded_loads
from hpc.pipebd.losses_seen import LossLog
from hpc.pipebd.pipeline import Advance
from hpc.pipebd.program import Program
from hpc.pipebd.recorder import Kind, Recorder
from hpc.pipebd.reducer import Reducer
from hpc.pipebd.shares import batch_shares
from hpc.pipebd.work import BlockWork, Round


class Tasks:
    """The blocks that this rank trains one by one.

    Parameters
    ----------
    program : Program
        Gives blocks and inputs.
    blocks : sequence of int
        Those that are trained here; DP: all, LS: the rank's own, perhaps none.
    reducer : Reducer
        Over the ranks that share each batch.
    recorder : Recorder
        Told what the rank does when.
    rank : int
        In the run, for messages.

    Attributes
    ----------
    works : list of BlockWork
        All blocks up to the last that is trained here: the teachers before it run as well.
    """

    def __init__(
        self,
        program: Program,
        blocks: Sequence[int],
        reducer: Reducer,
        recorder: Recorder,
        rank: int,
    ) -> None:
        self.blocks, self._reducer = blocks, reducer
        self._program, self._recorder, self._rank = program, recorder, rank
        self.works = [program.work(block, reducer) for block in range(max(blocks, default=-1) + 1)]
        rows = batch_shares(program.batch, reducer.size)[reducer.rank]
        self._feed = program.feed(range(*rows)) if blocks else None

    def run(
        self, block: int, rounds: Sequence[Round], advance: Advance = lambda steps, note: None
    ) -> npt.NDArray[np.float64]:
        """Train one block for an epoch. Collective over the reducer's group.

        Parameters
        ----------
        block : int
            One of `blocks`.
        rounds : sequence of Round
            Of the epoch.
        advance : callable
            Told of every round of this rank, and of which block.

        Returns
        -------
        (B,) float64 array
            This rank's part of the block's mean loss over training steps; 0 for all others.

        Raises
        ------
        InputError : on this rank alone, for a loss that is not finite.
        """
        assert self._feed is not None
        *before, work = self.works[: block + 1]
        log = LossLog([work], rounds, self._program.device, self._rank)
        inputs = recorded_loads(self._feed, rounds, self._recorder, block)
        for place, (turn, x) in enumerate(zip(rounds, inputs, strict=True)):
            for earlier in before:
                x = self._teacher(turn, earlier, x)
            self._train(turn, place, work, x, log)
            log.look(place + 1)
            advance(1, f"block {block}")
        return log.means(self._program.n_blocks)

    def _teacher(self, turn: Round, work: BlockWork, x: torch.Tensor) -> torch.Tensor:
        with self._recorder.span(Kind.TEACHER, turn.number, work.index):
            return work.teacher(x)

    def _train(
        self, turn: Round, place: int, work: BlockWork, x: torch.Tensor, log: LossLog
    ) -> None:
        target = self._teacher(turn, work, x)
        work.begin(turn)
        with self._recorder.span(Kind.STUDENT, turn.number, work.index):
            log.put(place, 0, work.student(x, target))
        if self._reducer.size > 1:
            with self._recorder.span(Kind.REDUCE, turn.number, work.index):
                work.reduce()
        with self._recorder.span(Kind.UPDATE, turn.number, work.index):
            work.update()
