"""Which schedule a run gets, and what is predicted of it."""

from __future__ import annotations

from collections.abc import Callable

from mpi4py import MPI

from hpc.comm.world import together
from hpc.pipebd.cost import cost_table
from hpc.pipebd.names import choose
from hpc.pipebd.outlook import Plan, planned
from hpc.pipebd.profile_data import Profile

COSTED = ("ahd", "ls")
"""Names that say nothing without a profile: it is taken before the run if none is given."""


def plan_run(
    comm: MPI.Comm,
    asked: str,
    n_blocks: int,
    batch: int,
    profile: Profile | None,
    measure: Callable[[], Profile],
) -> Plan:
    """Return the plan of a run, the same on all ranks. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run: as many ranks as the plan is for.
    asked : str
        One of `names.NAMES` or a schedule's text; the same on all ranks.
    n_blocks : int
        B, of the network.
    batch : int
        Samples of a step.
    profile : Profile or None
        As given by the user; None: `measure` is called for ahd and ls, and for others nothing is
        predicted.
    measure : callable
        Takes a profile, the same on all ranks; collective.

    Returns
    -------
    Plan
        With a prediction where there is a profile.

    Raises
    ------
    AgreedError : on all ranks: see `names.choose` and `cost.cost_table`.
    """
    with together(comm):
        if asked not in COSTED:  # before minutes of profiling
            choose(asked, n_blocks, comm.size, batch)
    if profile is None and asked in COSTED:
        profile = measure()
    with together(comm):
        table = None if profile is None else cost_table(profile, comm.size)
        return planned(choose(asked, n_blocks, comm.size, batch, table), table)
