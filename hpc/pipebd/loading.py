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
    """Yield what a feed gives for each round."""
    batches = feed.inputs(rounds)
    for turn in rounds:
        with recorder.span(Kind.LOAD, turn.number, block):
            x = next(batches)
        yield x
    next(batches, None)  # lets the feed clean up
