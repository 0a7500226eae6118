"""The paper's schedules by name: which are schedules of the relay, which are baselines.

ahd     searched (teacher relaying, decoupled update, automatic hybrid distribution)
tr+dpu  blocks dealt to ranks one group a rank, updates decoupled
tr      the same with a barrier before the updates
ir      one group of all ranks (internal relaying)
dp, ls  baselines that relay nothing: data-parallel, layerwise scheduling
"""

from __future__ import annotations

from dataclasses import dataclass

from hpc.io.errors import InputError
from hpc.io.ownership import owned_range
from hpc.pipebd.cost import CostTable
from hpc.pipebd.schedule import Group, Schedule, parse, validate
from hpc.pipebd.search import search, whole_batch

BASELINES = ("dp", "ls")
RELAYED = ("ahd", "tr+dpu", "tr", "ir")
NAMES = RELAYED + BASELINES


@dataclass(frozen=True)
class Choice:
    """What to run.

    Attributes
    ----------
    name : str
        One of NAMES, or 'given' for a schedule that was spelled out.
    schedule : Schedule or None
        None for the baselines.
    barrier : bool
        Whether all ranks meet before the updates (TR).
    """

    name: str
    schedule: Schedule | None
    barrier: bool = False


def choose(
    asked: str, n_blocks: int, n_ranks: int, batch: int, table: CostTable | None = None
) -> Choice:
    """Return what a name or a spelled-out schedule means for this job.

    Parameters
    ----------
    asked : str
        One of NAMES, or a schedule's text.
    n_blocks : int
        B, of the network.
    n_ranks : int
        N, of the job.
    batch : int
        Samples of a step.
    table : CostTable, optional
        Needed for ahd. With one, tr and tr+dpu take the best of the distributions of whole
        blocks, C(B-1, N-1) in number; without, equal counts of blocks.

    Returns
    -------
    Choice
        Its schedule, if any, is for `n_ranks` ranks, idle ones included.

    Raises
    ------
    InputError : unknown name; a schedule that does not fit the job; ahd without costs, or where
        no schedule fits, see `search`.
    """
    if "@" in asked:
        schedule = parse(asked)
        validate(schedule, n_blocks, n_ranks, batch)
        return Choice("given", schedule)
    if asked not in NAMES:
        raise InputError(
            f"unknown schedule {asked!r}; expected {', '.join(NAMES)} "
            "or groups such as '0-2@0-2 3-5@3'"
        )
    if asked in ("ir", "dp"):
        validate(one_group(n_blocks, n_ranks), n_blocks, n_ranks, batch)
    if asked in BASELINES:
        return Choice(asked, None)
    return Choice(asked, _named(asked, n_blocks, n_ranks, table), barrier=asked == "tr")


def _named(name: str, n_blocks: int, n_ranks: int, table: CostTable | None) -> Schedule:
    if name == "ir":
        return one_group(n_blocks, n_ranks)
    if name != "ahd":
        return equal_counts(n_blocks, n_ranks) if table is None else whole_batch(table)
    if table is None:
        raise InputError("schedule 'ahd' is searched by cost; give a profile (see pipebd profile)")
    return search(table)


def one_group(n_blocks: int, n_ranks: int) -> Schedule:
    """Return all blocks on all ranks, the batch split N ways (the paper's internal relaying).

    Parameters
    ----------
    n_blocks : int
        B, at least 1.
    n_ranks : int
        N, at least 1.

    Returns
    -------
    Schedule
        One group, nobody idle. Paper: Pipe-BD, TR+IR of its Fig. 4.
    """
    return Schedule((Group(range(n_blocks), range(n_ranks)),))


def equal_counts(n_blocks: int, n_ranks: int) -> Schedule:
    """Return contiguous blocks on single ranks, as even in number as can be; more ranks idle.

    Parameters
    ----------
    n_blocks : int
        B, at least 1.
    n_ranks : int
        N, at least 1.

    Returns
    -------
    Schedule
        min(B, N) groups of one rank; the first ones hold a block more where B is not divisible.
    """
    used = min(n_blocks, n_ranks)
    spans = [range(*owned_range(n_blocks, used, rank)) for rank in range(used)]
    groups = tuple(Group(span, range(rank, rank + 1)) for rank, span in enumerate(spans))
    return Schedule(groups, n_ranks - used)
