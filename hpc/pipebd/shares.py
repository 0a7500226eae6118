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

    sender, receiver : indices within their groups, 0..size-1.
    """

    sender: int
    receiver: int
    interval: Interval


def batch_shares(batch: int, size: int) -> list[Interval]:
    """Return the samples of each of `size` ranks; the first `batch % size` hold one more."""
    return [owned_range(batch, size, rank) for rank in range(size)]


def largest_share(batch: int, size: int) -> int:
    """Return how many samples the first rank of `size` holds, the most of all."""
    return -(-batch // size)


def relay(batch: int, senders: int, receivers: int) -> list[Message]:
    """Return every message between a group of `senders` ranks and one of `receivers` ranks.

    What a sender and a receiver both hold, where that is not empty: sender ascending, then
    receiver. Each sample of the batch is in exactly one message.
    """
    found = []
    for sender, (start, stop) in enumerate(batch_shares(batch, senders)):
        for receiver, (first, last) in enumerate(batch_shares(batch, receivers)):
            common = max(start, first), min(stop, last)
            if common[0] < common[1]:
                found.append(Message(sender, receiver, common))
    return found
