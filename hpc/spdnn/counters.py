"""What ran over MPI, counted, for comparison with what the plan predicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from mpi4py import MPI

from hpc.comm.exchange import Exchange


@dataclass(frozen=True)
class Counted:
    """Sums over ranks: words sent and received (by MPI's own count), messages sent.

    max_words_sent : of the rank that sent most.
    """

    words_sent: int
    words_received: int
    messages_sent: int
    max_words_sent: int


def count(comm: MPI.Comm, exchanges: Sequence[Exchange]) -> Counted:
    """Return the sums over all ranks and the given exchanges. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        All ranks whose exchanges are counted.
    exchanges : sequence of Exchange
        This rank's; it may have none.

    Returns
    -------
    Counted
        The same on all ranks.
    """
    mine = np.zeros(3, np.int64)
    for exchange in exchanges:
        mine += (exchange.words_sent, exchange.words_received, exchange.messages_sent)
    largest = comm.allreduce(int(mine[0]), op=MPI.MAX)
    comm.Allreduce(MPI.IN_PLACE, mine)
    return Counted(int(mine[0]), int(mine[1]), int(mine[2]), largest)
