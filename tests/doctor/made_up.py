"""Facts of ranks that there are not."""

from __future__ import annotations

from dataclasses import replace

from hpc.comm.abilities import Abilities
from hpc.doctor.facts import Facts

MPICH = Abilities("MPICH", "MPICH 5.0.2", "5.0", "multiple", False, True, "no", False)
OPEN_MPI = Abilities("Open MPI", "Open MPI 5.0.11", "3.1", "multiple", False, False, "no", False)
FINE = Facts(
    rank=0,
    host="a",
    world=2,
    launch=None,
    cores=(0,),
    host_cores=2,
    threads={"OMP_NUM_THREADS": "1"},
    mpi=MPICH,
    versions={"relaycut": "0.1.0 (12345678)", "numpy": "2.2.0"},
    kernels={"numba": "", "scipy": "", "torch": ""},
    shm_free=1 << 30,
    folders={"/home/u": True},
)


def ranks(*changes):
    """Return facts of ranks 0, 1 ..., each on a core of its own unless a change says otherwise."""
    made = []
    for rank, change in enumerate(changes):
        made.append(replace(FINE, rank=rank, world=len(changes), **({"cores": (rank,)} | change)))
    return made
