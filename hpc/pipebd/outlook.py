"""What a run is going to do, and how long its steps are predicted to take. No MPI, no torch."""

from __future__ import annotations

import os
from dataclasses import dataclass

from hpc.io.arguments import TEXT, WHOLE, check_arguments, instance, or_none
from hpc.io.errors import InputError
from hpc.pipebd.cost import CostTable, cost_table
from hpc.pipebd.names import Choice, choose
from hpc.pipebd.predict import Prediction, data_parallel, layerwise, relaying
from hpc.pipebd.profile_data import Profile
from hpc.pipebd.profile_file import read_profile


@dataclass(frozen=True)
class Plan:
    """What a run is going to do.

    Attributes
    ----------
    choice : schedule or baseline.
    packing : for LS the blocks of each rank; else empty.
    prediction : None where no costs are known.
    """

    choice: Choice
    packing: tuple[tuple[int, ...], ...] = ()
    prediction: Prediction | None = None


def planned(choice: Choice, table: CostTable | None) -> Plan:
    """Return the plan of a choice. Pure.

    Parameters
    ----------
    choice : what to run.
    table : what it costs, None where that is unknown.

    Returns
    -------
    The plan; with a table, its prediction as well.
    """
    if table is None:
        return Plan(choice)
    if choice.schedule is not None:
        return Plan(choice, prediction=relaying(table, choice.schedule, choice.barrier))
    if choice.name == "dp":
        return Plan(choice, prediction=data_parallel(table))
    packing, prediction = layerwise(table)
    return Plan(choice, packing, prediction)


ARGUMENTS = {
    "profile": instance(str, os.PathLike, Profile, said="a path or a Profile"),
    "ranks": WHOLE,
    "schedule": TEXT,
    "memory_limit": or_none(WHOLE),
}


def plan(
    profile: Profile | str | os.PathLike[str],
    ranks: int,
    schedule: str = "ahd",
    memory_limit: int | None = None,
) -> Plan:
    """Search the best schedule in a profile, exactly, or predict another one. Pure.

    Parameters
    ----------
    profile : from `profile`, or its file.
    ranks : of the run, at least 1.
    schedule : 'ahd' to search; or one to predict: a name of `names.NAMES`, or a text such as
        '0-2@0-2 3-5@3'.
    memory_limit : most bytes on a rank, beside what the profile says that a rank has.

    Returns
    -------
    The plan: ``str(plan.choice.schedule)`` is what `train` takes; ``plan.prediction`` has
    ``step_s`` (seconds) and ``idle`` (share of each rank).

    Raises
    ------
    InputError : a profile, schedule or number that cannot be used; nothing that fits.
    """
    check_arguments(
        ARGUMENTS, profile=profile, ranks=ranks, schedule=schedule, memory_limit=memory_limit
    )
    measured = profile if isinstance(profile, Profile) else read_profile(profile)
    table = cost_table(measured, ranks, memory_limit)
    found = planned(choose(schedule, len(table.work), table.n_ranks, measured.batch, table), table)
    if found.prediction is not None and found.prediction.misfit is not None:
        raise InputError(f"schedule {schedule!r} cannot run: {found.prediction.misfit}")
    return found


def shown(plan: Plan) -> str:
    """Return the plan as text: the schedule, or the blocks of each rank. Pure.

    Parameters
    ----------
    plan : of a run.

    Returns
    -------
    One line.
    """
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
