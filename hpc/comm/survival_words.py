"""What is said when ranks die, or could not be outlived. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Rank:
    """A rank as it was when the job began."""

    number: int
    host: str

    def __str__(self) -> str:
        return f"rank {self.number} on {self.host}"


def died(lost: Sequence[Rank], left: Sequence[Rank], again: bool = True) -> str:
    """Return who died, and what goes on.

    Parameters
    ----------
    lost : sequence of Rank
        Those that died, at least one.
    left : sequence of Rank
        Those that live.
    again : bool
        Whether these go on.

    Returns
    -------
    str
        In one line.
    """
    who = ", ".join(map(str, lost))
    if not again:
        return f"{who} died; the job ends"
    some = ", ".join(str(rank.number) for rank in left)
    others = f"rank {some} goes on alone" if len(left) == 1 else f"ranks {some} go on"
    return f"{who} died; {others} from the newest complete checkpoint, if there is one"


def cannot(able: str, library: str) -> str:
    """Return why nobody outlives a death, and what happens instead.

    Parameters
    ----------
    able : str
        'no' or 'not switched on', see `Abilities.survives`.
    library : str
        That mpi4py uses, 'MPICH 5.0.2'.

    Returns
    -------
    str
        In one line.
    """
    why = f"{library} has no ULFM" if able == "no" else "ULFM is off: start mpirun --with-ft ulfm"
    return (
        f"--on-failure shrink: {why}; a death ends the job, and the same command goes on from the "
        "newest checkpoint"
    )
