"""What ranks that may die tell each other of how an attempt has ended. Pure."""

from __future__ import annotations

import enum

from hpc.comm.checkpointing import EXIT_STOPPED
from hpc.io.errors import EXIT_BAD_INPUT


class Vote(enum.IntFlag):
    """How an attempt has ended on a rank; on all ranks, where it is the bitwise and of theirs.

    ENDED : by itself. WHOLE : no rank is known to be dead. SOUND : no exception of the rank's
    own. FED : no bad input that only this rank has found.
    """

    ENDED = 1
    WHOLE = 2
    SOUND = 4
    FED = 8
    ALL = 15


def verdict(everybodys: Vote, code: int) -> int | None:
    """Return the exit code with which the job ends; None when it has to be tried again.

    Parameters
    ----------
    everybodys : Vote
        The bitwise and of the votes of all ranks that live.
    code : int
        Of this rank's attempt, which is that of all where all have ended by themselves.

    Returns
    -------
    int or None
        1 for an exception on any rank, EXIT_BAD_INPUT for bad input that one has found alone;
        `code` where all have ended, and no rank is dead or a stop was asked for; else None.
    """
    if Vote.SOUND not in everybodys:
        return 1
    if Vote.FED not in everybodys:
        return EXIT_BAD_INPUT
    if Vote.ENDED in everybodys and (Vote.WHOLE in everybodys or code == EXIT_STOPPED):
        return code
    return None
