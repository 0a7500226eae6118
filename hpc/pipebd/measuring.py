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
    here : Session
        Ranks and transport.
    prepared : Prepared
        What is measured; the images of its first epoch are loaded.
    steps : int
        Of each measurement, at least 1.
    record : Record
        That tells of it.

    Returns
    -------
    Profile
        Of the recipe's label.

    Raises
    ------
    AgreedError : on all ranks: no steps.
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
