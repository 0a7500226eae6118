"""More ranks on a host than cores, where those that wait keep the others from computing."""

from __future__ import annotations

import os

from mpi4py import MPI

from hpc.comm.abilities import yields
from hpc.comm.gpu_support import loaded_library

REMEDIES = {
    "Open MPI": "start mpirun with --oversubscribe, or set OMPI_MCA_mpi_yield_when_idle=1",
    "MPICH": "set MPIR_CVAR_ENABLE_HEAVY_YIELD=1, or start fewer ranks",
}


def remedy(vendor: str) -> str:
    """Return what to set. Pure.

    Parameters
    ----------
    vendor : str
        As mpi4py has it: 'MPICH', 'Open MPI'.

    Returns
    -------
    str
        A remedy in words; for other vendors fewer ranks.
    """
    return REMEDIES.get(vendor, "start fewer ranks")


def crowded(host: str, ranks: int, cores: int, vendor: str, lets_others: bool | None) -> str:
    """Return in a sentence what is wrong and what to set. Pure.

    Parameters
    ----------
    host : str
        Its name.
    ranks : int
        On that host.
    cores : int
        That these may use together.
    vendor : str
        As `remedy`'s.
    lets_others : bool or None
        Whether a rank that waits lets others run; None where that is unknown.

    Returns
    -------
    str
        '' where nothing is wrong, or it is unknown.
    """
    if ranks <= cores or lets_others is not False:
        return ""
    return (
        f"{host}: {ranks} ranks on {cores} core{'s' * (cores > 1)}, and those that wait do not "
        f"let others run: {remedy(vendor)}"
    )


def crowding(comm: MPI.Intracomm) -> str:
    """Return on rank 0 what `crowded` says of a host on which something is wrong. Collective.

    Parameters
    ----------
    comm : MPI.Intracomm
        Of all ranks of the job.

    Returns
    -------
    str
        Of one host, where there are several; '' on other ranks, and where nothing is wrong.
    """
    here = comm.Split_type(MPI.COMM_TYPE_SHARED)
    cores = len(set().union(*here.allgather(os.sched_getaffinity(0))))
    ranks = here.size
    here.Free()
    vendor = MPI.get_vendor()[0]
    lets_others = yields(vendor, loaded_library(), os.environ)
    text = crowded(MPI.Get_processor_name(), ranks, cores, vendor, lets_others)
    return comm.reduce(text, op=MPI.MAX) or ""
