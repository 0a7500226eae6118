"""Teacher relaying: the last output of a group's teachers is the input of the next group.

Paper: Pipe-BD, section on teacher relaying; Algorithm 1, lines 9 and 11. Receives are posted
ahead into slices of the receiver's input buffers and sends leave from the teacher's output;
any split of the batch meets any other. The queue between two groups is bounded: a rank that
sends batch s has first seen batch s-1 received, so with `queue` buffers at the receiver it
gets at most `queue` batches ahead. Buffers are made once, nothing is allocated per batch.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.comm.links import Receiver, Sender
from hpc.comm.tags import Tag
from hpc.pipebd.program import Boundary
from hpc.pipebd.schedule import Group
from hpc.pipebd.shares import Interval, batch_shares, relay


class Inlet:
    """Receives this rank's share of every batch from the group before. Local.

    Parameters
    ----------
    comm : MPI.Comm
        Ranks as in the schedule.
    transport : Transport
        For the memory of `device`.
    before, group : Group
        The sending group and the rank's own.
    batch : int
        Samples of a batch.
    boundary : Boundary
        What is relayed of a sample.
    queue : int
        Input buffers, at least 1.
    tag : Tag
        Of the messages: those of training and of validation never meet.
    device : torch.device, optional
        Where the buffers are made; host memory unless given.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        transport: Transport,
        before: Group,
        group: Group,
        batch: int,
        boundary: Boundary,
        queue: int,
        tag: Tag = Tag.RELAY,
        device: torch.device | None = None,
    ) -> None:
        mine = comm.rank - group.ranks.start
        first, stop = batch_shares(batch, group.size)[mine]
        self._links: list[tuple[Receiver, slice]] = [
            (
                transport.receiver(comm, before.ranks[message.sender], tag, queue),
                _within(message.interval, first),
            )
            for message in relay(batch, before.size, group.size)
            if message.receiver == mine
        ]
        shape = (stop - first, *boundary.shape)
        self._free = deque(
            torch.empty(shape, dtype=boundary.dtype, device=device) for _ in range(queue)
        )
        self._posted: deque[torch.Tensor] = deque()
        self._taken: deque[torch.Tensor] = deque()
        self._due = 0

    def expect(self, batches: int) -> None:
        """Say that so many batches will come; receives are posted as long as there are buffers.

        Parameters
        ----------
        batches : int
            Added to those that were announced before and have not come.
        """
        self._due += batches
        self._post()

    def _post(self) -> None:
        while self._due and self._free:
            buffer = self._free.popleft()
            for link, rows in self._links:
                link.post(buffer[rows])
            self._posted.append(buffer)
            self._due -= 1

    def take(self) -> torch.Tensor:
        """Wait for the next batch.

        Returns
        -------
        (n_share, ...) tensor
            Its buffer, valid until `release`. Paper: Pipe-BD, Algorithm 1, line 9.
        """
        for link, _ in self._links:
            link.take()
        buffer = self._posted.popleft()
        self._taken.append(buffer)
        return buffer

    def release(self) -> None:
        """Give the oldest buffer taken back: nobody reads it any more."""
        self._free.append(self._taken.popleft())
        self._post()


class Outlet:
    """Sends this rank's share of every batch to the group after. Local.

    Parameters
    ----------
    comm, transport
        As `Inlet`'s.
    group, after : Group
        The rank's own and the receiving one.
    batch, tag
        As `Inlet`'s.
    """

    def __init__(
        self,
        comm: MPI.Comm,
        transport: Transport,
        group: Group,
        after: Group,
        batch: int,
        tag: Tag = Tag.RELAY,
    ) -> None:
        mine = comm.rank - group.ranks.start
        first, _ = batch_shares(batch, group.size)[mine]
        self._links: list[tuple[Sender, slice]] = [
            (
                transport.sender(comm, after.ranks[message.receiver], tag, 1),
                _within(message.interval, first),
            )
            for message in relay(batch, group.size, after.size)
            if message.sender == mine
        ]

    def send(self, output: torch.Tensor) -> None:
        """Send a share, once the batch before has been received. Paper: Algorithm 1, line 11.

        It is kept until it has left; nobody may write to it. A short last batch (validation) is one
        of which the last samples are missing.

        Parameters
        ----------
        output : (n_share, ...) tensor
            Contiguous, of the receivers' boundary.
        """
        for link, rows in self._links:
            link.send(output[rows])


def _within(interval: Interval, first: int) -> slice:
    """Return the rows of a share that begins at sample `first`."""
    return slice(interval[0] - first, interval[1] - first)


def neighbours(groups: Sequence[Group], index: int) -> tuple[Group | None, Group | None]:
    """Return the groups before and after group `index`, None at the ends.

    Parameters
    ----------
    groups : sequence of Group
        Of a schedule, in order.
    index : int
        Into them.

    Returns
    -------
    before : Group or None
        From whom it receives.
    after : Group or None
        To whom it sends.
    """
    before = groups[index - 1] if index else None
    after = groups[index + 1] if index + 1 < len(groups) else None
    return before, after
