"""Who holds which samples of a batch, and who sends which samples to whom. Pure.

Paper: pipe-bd, automatic hybrid distribution: a batch is split over the ranks of a
group. Shares are uneven where the size does not divide the batch; none is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

from hpc.io.ownership import owned_range

Interval = tuple[int, int]
"""Samples start..stop-1 of a batch."""


class Message(NamedTuple):
    """Samples `start..stop-1` of the batch from one rank of a group to one of the next.

    Attributes
    ----------
    sender, receiver : int
        Indices within their groups, 0..size-1.
    interval : (start, stop)
        Samples, counted from the beginning of the whole batch.
    """

    sender: int
    receiver: int
    interval: Interval


def batch_shares(batch: int, size: int) -> list[Interval]:
    """Return the samples of each of `size` ranks; the first `batch % size` hold one more.

    Parameters
    ----------
    batch : int
        Samples of a step.
    size : int
        Ranks of the group, at least 1.

    Returns
    -------
    list of (start, stop)
        One half-open interval a rank, in order; empty ones past the batch's end.
    """
    return [owned_range(batch, size, rank) for rank in range(size)]


def largest_share(batch: int, size: int) -> int:
    """Return how many samples the first rank of `size` holds, the most of all.

    Parameters
    ----------
    batch : int
        Samples of a step.
    size : int
        Ranks of the group, at least 1.

    Returns
    -------
    int
        batch / size, rounded up.
    """
    return -(-batch // size)


def relay(batch: int, senders: int, receivers: int) -> list[Message]:
    """Return every message between a group of `senders` ranks and one of `receivers` ranks.

    What a sender and a receiver both hold, where that is not empty: sender ascending, then
    receiver. Each sample of the batch is in exactly one message.

    Parameters
    ----------
    batch : int
        Samples of a step.
    senders, receivers : int
        Sizes of the two groups, at least 1.

    Returns
    -------
    list of Message
        At most senders + receivers - 1 of them.
    """
    found = []
    for sender, (start, stop) in enumerate(batch_shares(batch, senders)):
        for receiver, (first, last) in enumerate(batch_shares(batch, receivers)):
            common = max(start, first), min(stop, last)
            if common[0] < common[1]:
                found.append(Message(sender, receiver, common))
    return found
