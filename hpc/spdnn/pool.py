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
    """Panels of up to `rows` rows and PANEL_WIDTH columns."""

    def __init__(self, rows: int, dtype: np.dtype[np.floating]) -> None:
        self._size, self._dtype = rows * PANEL_WIDTH, dtype
        self._free: list[Floats] = []

    def take(self) -> Floats:
        """Return a panel, flat, (rows · PANEL_WIDTH,); its content is left over."""
        return self._free.pop() if self._free else aligned(self._size, self._dtype)

    def give(self, panels: list[Floats]) -> None:
        """Take panels back."""
        self._free.extend(reversed(panels))


class Pool:
    """A pool of columns.

    Parameters
    ----------
    store : where its panels are from. rows : own rows of the level.

    Attributes
    ----------
    count : columns so far.
    """

    def __init__(self, store: PanelStore, rows: int) -> None:
        self._store, self._rows, self.count = store, rows, 0
        self._panels: list[Floats] = []
        self._samples: list[Ints] = []
        self._columns: list[Ints] = []

    def add(self, samples: Ints, columns: Ints, kept: Ints, gather: Gather) -> None:
        """Take columns.

        samples, columns : (m,) numbers and which of the new columns, 0.., stands for each.
        kept : (columns,) what `gather` is to copy.
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
        """Copy the columns into the first rows of (panels, n_ext, width); zeros beyond them."""
        panels, _, width = target.shape
        for panel in range(panels):
            target[panel, : self._rows] = self._panel(panel)[:, :width]
        target[-1, : self._rows, self.count - (panels - 1) * width :] = 0

    def empty(self) -> tuple[Ints, Ints]:
        """Forget all; return samples and columns."""
        taken = np.concatenate(self._samples), np.concatenate(self._columns)
        self._store.give(self._panels)
        self._panels, self._samples, self._columns, self.count = [], [], [], 0
        return taken

    def _panel(self, number: int) -> Floats:
        size = self._rows * PANEL_WIDTH
        return self._panels[number][:size].reshape(self._rows, PANEL_WIDTH)
