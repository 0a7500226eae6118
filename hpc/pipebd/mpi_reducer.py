"""Sums over the ranks of a group by MPI: the reducer of every group of several ranks."""

from __future__ import annotations

import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.pipebd.reducer import Alone, Reducer


class MpiReducer:
    """Sums in rank order over a communicator; in MPI's order where that takes device pointers.

    See `reducer.Reducer`.

    Parameters
    ----------
    comm : MPI.Comm
        The group's; its owner frees it.
    transport : Transport
        For the memory that the tensors lie in.

    Attributes
    ----------
    rank, size : int
        In the communicator.
    """

    def __init__(self, comm: MPI.Comm, transport: Transport) -> None:
        self.rank, self.size = comm.rank, comm.size
        self._comm, self._transport = comm, transport

    def sum(self, tensor: torch.Tensor) -> torch.Tensor:
        """Replace `tensor` by its sum over the group and return it. Collective.

        Parameters
        ----------
        tensor : torch.Tensor
            Contiguous, of the same shape and dtype on all ranks of the group.

        Returns
        -------
        torch.Tensor
            The same tensor.
        """
        self._transport.all_reduce(self._comm, tensor.detach())
        return tensor


def reducer_of(comm: MPI.Comm, transport: Transport) -> Reducer:
    """Return the reducer of a group's communicator. Local.

    Parameters
    ----------
    comm : MPI.Comm
        Of the ranks that share a batch.
    transport : Transport
        For the memory that the tensors lie in.

    Returns
    -------
    Reducer
        `Alone` for a group of one.
    """
    return MpiReducer(comm, transport) if comm.size > 1 else Alone()
