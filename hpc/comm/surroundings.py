"""What a run runs on, as far as MPI knows."""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from hpc.comm.mpi_start import library_name


def surroundings(comm: MPI.Comm) -> dict[str, Any]:
    """Return on the first rank what a run runs on; nothing elsewhere. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the run.

    Returns
    -------
    dict
        'ranks', how many; 'hosts', one a rank; 'mpi', the library. Empty on other ranks.
    """
    hosts = comm.gather(MPI.Get_processor_name())
    return {} if hosts is None else {"ranks": comm.size, "hosts": hosts, "mpi": library_name()}
