"""Sums over the ranks of a group by MPI: the reducer of every group of several ranks."""

from __future__ import annotations

import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.pipebd.reducer import Alone, Reducer


class MpiReducer:
    """Sums in rank order over a communicator. rank, size : in it."""

    def __init__(self, comm: MPI.Comm, transport: Transport) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._comm, self._transport = comm, transport

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace `tensor`, contiguous, by its sum over the group and return it. Collective."""
        self._transport.all_reduce(self._comm, tensor.detach())
        return tensor


def reducer_of(comm: MPI.Comm, transport: Transport) -> Reducer:
    """Return the reducer of a group's communicator."""
    return MpiReducer(comm, transport) if comm.size > 1 else Alone()
