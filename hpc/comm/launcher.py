"""What the launcher says of this process, before any MPI is loaded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

RANK_VARIABLES = (
    "PMI_RANK",
    "PMIX_RANK",
    "OMPI_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_RANK",
    "PMI_ID",
    "SLURM_PROCID",
)
REAL_STEPS = 0xFFFFFFF0
"""Steps of SLURM from here on are batch scripts and shells, which run a single process."""


@dataclass(frozen=True)
class Launch:
    """How this process was started.

    by : the launcher, for people. rank, size : as it says. speaks : by what MPI finds its peers:
    'pmi', 'pmix', or '' for a launcher that offers nothing.
    """

    by: str
    rank: int
    size: int
    speaks: str


def launched(environment: Mapping[str, str]) -> Launch | None:
    """Return who started this process as one of several, None where nobody says so. Pure.

    A batch script of SLURM is a single process, however many tasks its job has.

    Parameters
    ----------
    environment : mapping of str to str
        Of the process.

    Returns
    -------
    Launch or None
        What the launcher says; its size may be 1.
    """
    step = _step_size(environment)
    for by, rank, size, speaks in (
        ("Open MPI's mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "pmix"),
        ("MVAPICH's mpirun", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "pmi"),
        (_pmi_launcher(environment), "PMI_RANK", "PMI_SIZE", "pmi"),
        (_pmi_launcher(environment), "PMI_ID", "PMI_SIZE", "pmi"),
    ):
        numbers = [environment.get(name, "") for name in (rank, size)]
        if all(number.isdigit() for number in numbers):
            return Launch(by, int(numbers[0]), int(numbers[1]), speaks)
    if step is None:
        return None
    speaks = "pmix" if "PMIX_RANK" in environment else ""
    return Launch("srun", int(environment.get("SLURM_PROCID", "0")), step, speaks)


def _step_size(environment: Mapping[str, str]) -> int | None:
    """Return how many processes srun has started, None where it was not srun."""
    step, size = (environment.get(f"SLURM_STEP_{name}", "") for name in ("ID", "NUM_TASKS"))
    if not (step.isdigit() and size.isdigit()) or int(step) >= REAL_STEPS:
        return None
    return int(size)


def _pmi_launcher(environment: Mapping[str, str]) -> str:
    if "MPI_LOCALNRANKS" not in environment and _step_size(environment) is not None:
        return "srun"
    intel = any(name.startswith("I_MPI_") for name in environment)
    return "Intel MPI's mpirun" if intel else "MPICH's mpirun"


def launched_rank() -> int:
    """Return this process's rank by the launcher's environment.

    Returns
    -------
    int
        Of RANK_VARIABLES the first that holds a number; 0 where none does.
    """
    for name in RANK_VARIABLES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0
