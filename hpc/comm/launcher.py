"""What the launcher says of this process, before any MPI is loaded."""

from __future__ import annotations

import os

RANK_VARIABLES = ("PMI_RANK", "PMIX_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID")


def launched_rank() -> int:
    """Return this process's rank by the launcher's environment, 0 where there is none."""
    for name in RANK_VARIABLES:
        if os.environ.get(name, "").isdigit():
            return int(os.environ[name])
    return 0
