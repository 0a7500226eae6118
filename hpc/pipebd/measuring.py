"""A profile of what was prepared, with progress: for `pipebd profile`, and before a training."""

from __future__ import annotations

from hpc.pipebd.preparation import Prepared
from hpc.pipebd.profile_data import Profile
from hpc.pipebd.profiling import measure
from hpc.pipebd.session import Session
from hpc.report.progress import progress


def measure_prepared(here: Session, prepared: Prepared, steps: int, show: bool) -> Profile:
    """Return the profile, the same on all ranks. Collective.

    Parameters
    ----------
    steps : of each measurement. show : progress, on rank 0.
    """
    n_blocks = prepared.program.n_blocks
    with progress("profile", n_blocks, here.first and show) as advance:
        return measure(
            here.comm,
            prepared.program,
            here.transport,
            prepared.program.epochs[0],
            steps=steps,
            architecture_every=prepared.architecture_every,
            workload=prepared.recipe.label,
            advance=advance,
        )
