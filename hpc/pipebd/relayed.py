"""What the ranks of a schedule relay to each other in a step. Pure."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

from hpc.pipebd.program import Boundary
from hpc.pipebd.relay import neighbours
from hpc.pipebd.schedule import Schedule
from hpc.pipebd.shares import relay


def relayed_figures(
    schedule: Schedule, n_ranks: int, batch: int, boundary: Callable[[int], Boundary]
) -> dict[str, Any]:
    """Return the figures for a run's folder.

    Parameters
    ----------
    schedule : Schedule
        That is run.
    n_ranks : int
        N, of the job.
    batch : int
        Samples of a step.
    boundary : callable
        From a block to the `Boundary` of its input.

    Returns
    -------
    dict of str to Any
        `pairs`: (N, N) bytes a step by sender and receiver, relays only; gradients are not
        counted. `unit`: in words.
    """
    pairs = [[0] * n_ranks for _ in range(n_ranks)]
    for index, group in enumerate(schedule.groups):
        before, _ = neighbours(schedule.groups, index)
        if before is None:
            continue
        between = boundary(group.blocks.start)
        sample_bytes = prod(between.shape) * between.dtype.itemsize
        for message in relay(batch, before.size, group.size):
            first, stop = message.interval
            sender, receiver = before.ranks[message.sender], group.ranks[message.receiver]
            pairs[sender][receiver] += (stop - first) * sample_bytes
    return {"unit": "bytes per step", "pairs": pairs}
