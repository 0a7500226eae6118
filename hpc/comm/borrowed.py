"""The communicator that a script gave: whether it can be used, and a duplicate of it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mpi4py import MPI

from hpc.comm.mpi_start import foreign_launcher
from hpc.comm.world import owned
from hpc.io.arguments import shown
from hpc.io.errors import InputError


@contextlib.contextmanager
def borrowed(comm: MPI.Comm) -> Iterator[MPI.Comm]:
    """Yield a duplicate of a script's communicator; free it at the end. Collective.

    Parameters
    ----------
    comm : any intracommunicator.

    Yields
    ------
    The duplicate.

    Raises
    ------
    InputError : it is none; or MPI sees one rank only where the launcher started several
        processes, since it is another MPI's. On each of them, as none knows of the others.
    """
    if not isinstance(comm, MPI.Intracomm):
        null = isinstance(comm, MPI.Comm) and comm == MPI.COMM_NULL
        raise InputError(
            f"comm: {'MPI.COMM_NULL' if null else shown(comm)}, expected an intracommunicator of "
            "mpi4py, such as MPI.COMM_WORLD"
        )
    if comm == MPI.COMM_NULL:
        raise InputError("comm: has been freed, expected one that has not")
    wrong = foreign_launcher()
    if wrong is not None:
        raise InputError(wrong)
    with owned(comm) as mine:
        yield mine
