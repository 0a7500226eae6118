"""A profile of what was prepared, with progress: for `pipebd profile`, and before a training."""

from __future__ import annotations

from hpc.pipebd.preparation import Prepared
from hpc.pipebd.profile_data import Profile
from hpc.pipebd.profiling import measure
from hpc.pipebd.session import Session
from hpc.report.record import Record


def measure_prepared(here: Session, prepared: Prepared, steps: int, record: Record) -> Profile:
    """Return the profile, the same on all ranks. Collective.

    Parameters
    ----------
    steps : of each measurement. record : that tells of it.
    """
    n_blocks = prepared.program.n_blocks
    with record.watch("profile", n_blocks, "blocks") as advance:
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
