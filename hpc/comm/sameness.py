"""Whether all ranks ask for the same thing: else some would wait for messages that never come."""

from __future__ import annotations

from mpi4py import MPI

from hpc.comm.world import AgreedError


def same_on_all(comm: MPI.Comm, **asked: object) -> None:
    """Check that every rank asks for the same. Collective.

    Parameters
    ----------
    comm : of the ranks.
    **asked : what is asked for, by name; compared as text, so short.

    Raises
    ------
    AgreedError : on all ranks: names the first that differs, the rank, and both values.
    """
    everyone = comm.allgather({name: repr(value) for name, value in asked.items()})
    for rank, found in enumerate(everyone):
        for name in everyone[0] | found:
            expected = everyone[0].get(name)
            if found.get(name) != expected:
                raise AgreedError(
                    f"{name} is {found.get(name)} on rank {rank}, {expected} on rank 0; "
                    "expected the same on all ranks"
                )
