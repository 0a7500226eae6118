"""A program whose rank 1 dies, or fails, while others wait for each other in many ways."""

from __future__ import annotations

import os
import signal
import sys

import numpy as np
from mpi4py import MPI

from hpc.comm.checkpointing import Stopped, say_stopped
from hpc.comm.mpi_start import start_mpi
from hpc.comm.survival import survive
from hpc.comm.world import AgreedError, run_program
from hpc.io.errors import InputError


def wait_on(comm, last, way):
    """Wait for the rank before in a ring, which begins at the one that dies.

    last : a communicator of all ranks from 2.
    """
    before, numbers = (comm.rank - 1) % comm.size, np.zeros(4)
    if way == "recv":
        comm.Recv(numbers, before)
    elif way == "waitany":
        MPI.Request.Waitany([comm.Irecv(numbers, before)])
    elif way == "persistent":
        requests = [comm.Recv_init(numbers, before)]
        MPI.Prequest.Startall(requests)
        while MPI.Request.Testsome(requests) == []:
            pass
    elif way == "allreduce":
        comm.Allreduce(MPI.IN_PLACE, numbers)
    elif way == "iallreduce":
        request = comm.Iallreduce(MPI.IN_PLACE, numbers)
        while not request.Test():
            pass
    elif way == "planned sum":
        request = comm.Allreduce_init(MPI.IN_PLACE, numbers)
        request.Start()
        request.Wait()
    elif way == "dup":
        comm.Dup()
    elif way == "elsewhere":  # rank 2 waits for 3, 3 for 0, and 0 for 1
        {0: comm, 2: last, 3: comm}[comm.rank].Recv(numbers, {0: 1, 2: 1, 3: 0}[comm.rank])
    raise AssertionError("nobody was there to wait for")


def fail(comm, way):
    """End the attempt on rank 1 alone, or on all ranks, as `way` says."""
    if way == "agreed":
        raise AgreedError("all are wrong")
    if way == "stopped":
        raise Stopped("stopped by SIGUSR1", 3)
    if comm.rank == 1 and way == "bug":
        raise ZeroDivisionError("of rank 1")
    if comm.rank == 1 and way == "input":
        raise InputError("rank 1 alone is wrong")
    comm.Barrier()
    comm.Dup().Barrier()


def attempt(comm, whole, way, then):
    if comm.size == whole:
        inner, last = comm.Dup(), comm.Split(int(comm.rank > 1), comm.rank)
        inner.Barrier()
        if comm.rank == 1 and way != "none":
            os.kill(os.getpid(), signal.SIGKILL)
        if way == "last":  # others are done already
            return 0
        if way != "none":
            wait_on(inner, last, way)
    try:
        if then != "sum":
            fail(comm, then)
    except Stopped as stopped:
        return say_stopped(comm, stopped)
    total = comm.allreduce(comm.rank + 1)
    print(f"rank {comm.rank} of {comm.size}: {total}", flush=True)
    return 0


def main(how, way, then):
    world, _ = start_mpi()

    def run():
        def one(comm):
            return attempt(comm, world.size, way, then)

        return survive(world, one, how == "shrink")

    return run_program(run, world)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
