"""What a message takes, there and back between two ranks."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from hpc.comm.links import Receiver, Sender
from hpc.comm.streams import Buffer


def one_way_s(
    first: bool,
    sender: Sender,
    receiver: Receiver,
    buffers: Sequence[Buffer],
    now: Callable[[], float],
    warm_up: int,
    repeats: int,
) -> float:
    """Return the median seconds of a message: half of a round trip, as the first of two sees it.

    Both call it. The other one's figure includes the wait for the first and means nothing.

    Parameters
    ----------
    first : bool
        Whether this rank is the one that begins a round trip.
    sender : Sender
        To the other rank.
    receiver : Receiver
        From the other rank.
    buffers : sequence of two arrays or tensors
        To receive into and to send from.
    now : callable
        A clock, in seconds.
    warm_up, repeats : int
        Round trips before those that count, and those, at least 1.

    Returns
    -------
    float
        Seconds, one way.
    """
    laps = []
    for _ in range(warm_up + repeats):
        receiver.post(buffers[0])
        began = now()
        if first:
            sender.send(buffers[1])
        receiver.take()
        if not first:
            sender.send(buffers[1])
        laps.append(now() - began)
    return statistics.median(laps[warm_up:]) / 2
