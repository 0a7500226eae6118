"""Which columns stand for which: the result of looking for equal ones. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hpc.spdnn.levels import PANEL_WIDTH

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Merge:
    """Which columns stay, ascending, (m,) int32, and where each one went, (columns,) int32."""

    kept: Ints
    where: Ints


class Merger(Protocol):
    """Finds and gathers equal columns; see `hpc.spdnn.equal_columns`."""

    def find(self, own: Floats, ids: Ints) -> Merge | None:
        """Return what to merge of (panels, n_own, width), or None. Collective.

        Parameters
        ----------
        own : (panels, n_own, width) float array
            Own rows of a level.
        ids : (n_own,) int32 array
            Their global numbers.

        Returns
        -------
        Merge or None
            The same on all ranks; None where it is not worthwhile.
        """

    def gather(self, source: Floats, kept: Ints, target: Floats, start: int) -> None:
        """Copy columns side by side into another array. Local.

        Parameters
        ----------
        source : (panels, n_own, width) float array
            Own rows of a level.
        kept : (m,) int32 array
            Columns of it.
        target : (panels, n_ext, width) float array
            Overwritten in its first n_own rows.
        start : int
            First column of the target to overwrite.
        """


def merge_of(first: Ints) -> Merge:
    """Return the merge that keeps every column that is its own first.

    Parameters
    ----------
    first : (columns,) int32 array
        The first column that is equal to each.

    Returns
    -------
    Merge
        Of as few columns as can be.
    """
    return _keep(first, first == np.arange(len(first), dtype=np.int32))


def fill_panels(merge: Merge) -> Merge:
    """Return the merge with as many more columns kept as `kept_size` says.

    Parameters
    ----------
    merge : Merge
        With at least `kept_size` columns before merging.

    Returns
    -------
    Merge
        The first of those that were not kept are kept, too, and stand for themselves.
    """
    spare = kept_size(len(merge.kept)) - len(merge.kept)
    keep = np.zeros(len(merge.where), bool)
    keep[merge.kept] = True
    keep[np.flatnonzero(~keep)[:spare]] = True
    return _keep(merge.kept[merge.where], keep)


def kept_size(distinct: int) -> int:
    """Return how many columns to go on with: whole panels, or a power of two below one.

    Parameters
    ----------
    distinct : int
        Columns that differ, at least 1.

    Returns
    -------
    int
        Not below `distinct`.
    """
    if distinct > PANEL_WIDTH // 2:
        return -(-distinct // PANEL_WIDTH) * PANEL_WIDTH
    return 1 << (distinct - 1).bit_length()


def _keep(first: Ints, keep: npt.NDArray[np.bool_]) -> Merge:
    kept = np.flatnonzero(keep).astype(np.int32)
    place = np.empty(len(first), np.int32)
    place[kept] = np.arange(len(kept), dtype=np.int32)
    return Merge(kept, np.where(keep, place, place[first]))
