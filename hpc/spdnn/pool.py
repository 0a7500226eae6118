"""Columns of one level that wait for others, with the samples that they stand for."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]


class Pool:
    """A pool of columns.

    Attributes
    ----------
    values : (panels, n_own, width) own rows of the level, filled by the caller.
    count : columns filled so far.
    """

    def __init__(self, values: Floats) -> None:
        self.values, self.count = values, 0
        self._samples: list[Ints] = []
        self._columns: list[Ints] = []

    def add(self, samples: Ints, columns: Ints, count: int) -> None:
        """Note `count` new columns, at the end, and which of them, 0.., stands for each sample."""
        self._samples.append(samples)
        self._columns.append(columns + np.int32(self.count))
        self.count += count

    def copy_to(self, target: Floats) -> None:
        """Copy the columns into the first rows of (panels, n_ext, width); zeros beyond them."""
        panels, _, width = target.shape
        rows = self.values.shape[1]
        target[:, :rows] = self.values[:panels, :, :width]
        target[-1, :rows, self.count - (panels - 1) * width :] = 0

    def empty(self) -> tuple[Ints, Ints]:
        """Forget all; return samples and columns."""
        taken = np.concatenate(self._samples), np.concatenate(self._columns)
        self._samples, self._columns, self.count = [], [], 0
        return taken
