"""Columns of one level that wait for others, with the samples that they stand for.

They lie in panels that the pools of all levels take from one store and give back, so that
there are as many as wait at one time.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hpc.spdnn.levels import PANEL_WIDTH
from hpc.spdnn.panels import aligned

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]
Gather = Callable[[Ints, Floats, int], None]
"""Copies columns, by their numbers, into columns start.. of (1, rows, PANEL_WIDTH)."""


class PanelStore:
    """Panels of up to `rows` rows and PANEL_WIDTH columns.

    Parameters
    ----------
    rows : int
        The most own rows of any level.
    dtype : numpy.dtype
        Of the numbers.
    """

    def __init__(self, rows: int, dtype: np.dtype[np.floating]) -> None:
        self._size, self._dtype = rows * PANEL_WIDTH, dtype
        self._free: list[Floats] = []

    def take(self) -> Floats:
        """Return a panel; its content is left over.

        Returns
        -------
        (rows · PANEL_WIDTH,) array
            Out of the store until it is given back.
        """
        return self._free.pop() if self._free else aligned(self._size, self._dtype)

    def give(self, panels: list[Floats]) -> None:
        """Take panels back.

        Parameters
        ----------
        panels : list of arrays
            From `take`; the first of them is taken next.
        """
        self._free.extend(reversed(panels))


class Pool:
    """A pool of columns.

    Parameters
    ----------
    store : PanelStore
        Where its panels are from.
    rows : int
        Own rows of the level.

    Attributes
    ----------
    count : int
        Columns so far.
    """

    def __init__(self, store: PanelStore, rows: int) -> None:
        self._store, self._rows, self.count = store, rows, 0
        self._panels: list[Floats] = []
        self._samples: list[Ints] = []
        self._columns: list[Ints] = []

    def add(self, samples: Ints, columns: Ints, kept: Ints, gather: Gather) -> None:
        """Take columns.

        Parameters
        ----------
        samples : (m,) int32 array
            Numbers of samples.
        columns : (m,) int32 array
            Which of the new columns, 0.., stands for each.
        kept : (new columns,) int32 array
            What `gather` is to copy.
        gather : callable
            See `Gather`; called once for each panel that gets some.
        """
        self._samples.append(samples)
        self._columns.append(columns + np.int32(self.count))
        done = 0
        while done < len(kept):
            start = self.count % PANEL_WIDTH
            if not start:
                self._panels.append(self._store.take())
            some = kept[done : done + PANEL_WIDTH - start]
            gather(some, self._panel(-1)[None], start)
            done += len(some)
            self.count += len(some)

    def copy_to(self, target: Floats) -> None:
        """Copy the columns into the first rows of a level; zeros beyond them.

        Parameters
        ----------
        target : (panels, n_ext, width) array
            Panels as `MergingPass` shapes them: the columns end in the last one.
        """
        panels, _, width = target.shape
        for panel in range(panels):
            target[panel, : self._rows] = self._panel(panel)[:, :width]
        target[-1, : self._rows, self.count - (panels - 1) * width :] = 0

    def empty(self) -> tuple[Ints, Ints]:
        """Forget all columns; their panels go back to the store.

        Returns
        -------
        tuple of two (m,) int32 arrays
            The samples, and the column of the pool that stood for each.
        """
        taken = np.concatenate(self._samples), np.concatenate(self._columns)
        self._store.give(self._panels)
        self._panels, self._samples, self._columns, self.count = [], [], [], 0
        return taken

    def _panel(self, number: int) -> Floats:
        size = self._rows * PANEL_WIDTH
        return self._panels[number][:size].reshape(self._rows, PANEL_WIDTH)
