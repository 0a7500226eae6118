"""Which schedule a run gets, and what is predicted of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpi4py import MPI

from hpc.comm.world import together
from hpc.pipebd.cost import CostTable, cost_table
from hpc.pipebd.names import Choice, choose
from hpc.pipebd.predict import Prediction, data_parallel, layerwise, relaying
from hpc.pipebd.profile_data import Profile

COSTED = ("ahd", "ls")
"""Names that say nothing without a profile: it is taken before the run if none is given."""


@dataclass(frozen=True)
class Plan:
    """choice : what to run. packing : for LS the blocks of each rank. prediction : or None."""

    choice: Choice
    packing: tuple[tuple[int, ...], ...] = ()
    prediction: Prediction | None = None


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
    asked : one of `names.NAMES` or a schedule's text. profile : as given by the user.
    measure : takes a profile; collective.

    Raises
    ------
    AgreedError : see `names.choose` and `cost.cost_table`.
    """
    with together(comm):
        if asked not in COSTED:  # before minutes of profiling
            choose(asked, n_blocks, comm.size, batch)
    if profile is None and asked in COSTED:
        profile = measure()
    with together(comm):
        table = None if profile is None else cost_table(profile, comm.size)
        return _plan(choose(asked, n_blocks, comm.size, batch, table), table)


def _plan(choice: Choice, table: CostTable | None) -> Plan:
    if table is None:
        return Plan(choice)
    if choice.schedule is not None:
        return Plan(choice, prediction=relaying(table, choice.schedule, choice.barrier))
    if choice.name == "dp":
        return Plan(choice, prediction=data_parallel(table))
    packing, prediction = layerwise(table)
    return Plan(choice, packing, prediction)


def shown(plan: Plan) -> str:
    """Return the plan as text: the schedule, or the blocks of each rank."""
    choice = plan.choice
    if choice.schedule is not None:
        return f"{choice.schedule}{', barrier before the updates' if choice.barrier else ''}"
    if choice.name == "ls":
        return " ".join(
            f"{','.join(map(str, blocks))}@{rank}"
            for rank, blocks in enumerate(plan.packing)
            if blocks
        )
    return "dp, one block after another on all ranks"
