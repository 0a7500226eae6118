"""A launcher of another MPI than mpi4py's: every process believes that it is rank 0 of 1. Pure."""

from __future__ import annotations

from pathlib import Path

from hpc.comm.launcher import Launch

SRUN = {"MPICH": "pmi2", "Open MPI": "pmix"}
"""What `srun --mpi=` must be for an MPI that does not say so itself."""


def stranded(launch: Launch | None, vendor: str, knows_pmix: bool) -> bool:
    """Return whether MPI would end the process when it starts, instead of starting alone.

    vendor : of the library that mpi4py uses. knows_pmix : whether that library does.
    """
    return launch is not None and launch.speaks == "pmix" and vendor == "MPICH" and not knows_pmix


def alone(launch: Launch | None, world: int) -> bool:
    """Return whether one of several processes sees no other. world : ranks that MPI sees."""
    return launch is not None and launch.size > 1 and world == 1


def advice(launch: Launch, library: str, mpirun: Path | None) -> str:
    """Return in one sentence what is wrong and what to do.

    library : that mpi4py uses, 'MPICH 5.0.2'. mpirun : that belongs to it, if it was found.
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
