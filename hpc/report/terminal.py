"""A terminal that mpirun stands before: `launch` sees it and tells the ranks, which see a pipe."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

VARIABLE = "RELAYCUT_TERMINAL"
"""Of the environment: columns, then 'both' where standard output is shown there, too."""
BOTH = "both"


@dataclass(frozen=True)
class Terminal:
    """Where standard error of the ranks is shown.

    Attributes
    ----------
    columns : of it, at least 1.
    both : whether standard output is shown there as well.
    """

    columns: int
    both: bool

    @property
    def text(self) -> str:
        """What VARIABLE is set to."""
        return f"{self.columns} {BOTH}" if self.both else str(self.columns)


def told_terminal(environment: Mapping[str, str]) -> Terminal | None:
    """Return the terminal that a launcher has told of. Pure.

    Parameters
    ----------
    environment : of the process.

    Returns
    -------
    The terminal; None where VARIABLE is not set, or says something else.
    """
    columns, _, rest = environment.get(VARIABLE, "").partition(" ")
    if not columns.isdecimal() or int(columns) < 1 or rest not in ("", BOTH):
        return None
    return Terminal(int(columns), rest == BOTH)
