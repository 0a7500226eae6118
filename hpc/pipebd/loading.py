"""Loading, with the wait for it on record."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from hpc.pipebd.program import Feed
from hpc.pipebd.recorder import Kind, Recorder
from hpc.pipebd.work import Round


def recorded_loads(
    feed: Feed, rounds: Sequence[Round], recorder: Recorder, block: int
) -> Iterator[torch.Tensor]:
    """Yield what a feed gives for each round; the wait for it is a span of kind load.

    Parameters
    ----------
    feed : Feed
        Of this rank's rows.
    rounds : sequence of Round
        In order.
    recorder : Recorder
        Told of every wait.
    block : int
        The first of the rank, for the record.

    Yields
    ------
    (n_share, ...) tensor
        One a round.
    """
    batches = feed.inputs(rounds)
    for turn in rounds:
        with recorder.span(Kind.LOAD, turn.number, block):
            x = next(batches)
        yield x
    next(batches, None)  # lets the feed clean up
