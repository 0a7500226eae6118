"""A launcher of another MPI than mpi4py's: every process believes that it is rank 0 of 1. Pure."""

from __future__ import annotations

from pathlib import Path

from hpc.comm.launcher import Launch

SRUN = {"MPICH": "pmi2", "Open MPI": "pmix"}
"""What `srun --mpi=` must be for an MPI that does not say so itself."""


def stranded(launch: Launch | None, vendor: str, knows_pmix: bool) -> bool:
    """Return whether MPI would end the process when it starts, instead of starting alone.

    Parameters
    ----------
    launch : Launch or None
        What the launcher says.
    vendor : str
        Of the library that mpi4py uses: 'MPICH', 'Open MPI'.
    knows_pmix : bool
        Whether that library finds its peers by PMIx.

    Returns
    -------
    bool
        True only of an MPICH without PMIx under a launcher that speaks PMIx.
    """
    return launch is not None and launch.speaks == "pmix" and vendor == "MPICH" and not knows_pmix


def alone(launch: Launch | None, world: int) -> bool:
    """Return whether one of several processes sees no other.

    Parameters
    ----------
    launch : Launch or None
        What the launcher says.
    world : int
        Ranks that MPI sees.

    Returns
    -------
    bool
        False where no launcher says anything.
    """
    return launch is not None and launch.size > 1 and world == 1


def advice(launch: Launch, library: str, mpirun: Path | None) -> str:
    """Return in one sentence what is wrong and what to do.

    Parameters
    ----------
    launch : Launch
        What the launcher says.
    library : str
        That mpi4py uses, 'MPICH 5.0.2'.
    mpirun : Path or None
        That belongs to it; None where it was not found.

    Returns
    -------
    str
        What is wrong, ': ', what to do.
    """
    vendor = library.rsplit(" ", 1)[0]
    started = f"{launch.by} started {launch.size} process{'es' * (launch.size > 1)}"
    own = f"{vendor}'s mpirun" + (f", {mpirun}" if mpirun else "")
    if launch.by == "srun":
        flavour = SRUN.get(vendor)
        asked = f"srun --mpi={flavour}" if flavour else "the --mpi= of srun that it was built for"
        remedy = f"use {asked} ('srun --mpi=list' shows what there is), or {own}"
    else:
        remedy = f"use {own}"
    return f"{started}, but mpi4py uses {library}, which cannot join them: {remedy}"
