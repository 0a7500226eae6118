"""A rank's own rows of the inputs: batch by batch from the file, or all kept as stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from hpc.io.errors import InputError
from hpc.io.sample_arrays import SampleArrays
from hpc.io.samples import SamplesFile
from hpc.io.shard import Shard

Floats = npt.NDArray[np.floating]
Samples = SamplesFile | SampleArrays


def check_inputs(samples: Samples, shard: Shard) -> None:
    """Raise InputError if the inputs do not fit the network's first level.

    Parameters
    ----------
    samples : SamplesFile or SampleArrays
        Open.
    shard : Shard
        For the network's first level.

    Raises
    ------
    InputError : another number of inputs a sample.
    """
    if samples.header.width != shard.sizes[0]:
        raise InputError(
            f"{samples.header.path}: inputs of width {samples.header.width}, "
            f"the network takes {shard.sizes[0]}"
        )


def check_classes(samples: Samples, shard: Shard) -> None:
    """Raise InputError if the labels need more outputs than the network has.

    Parameters
    ----------
    samples : SamplesFile or SampleArrays
        Open; without labels it has 0 classes.
    shard : Shard
        For the network's last level.

    Raises
    ------
    InputError : more classes than outputs.
    """
    if samples.header.classes > shard.sizes[-1]:
        raise InputError(
            f"{samples.header.path}: {samples.header.classes} classes, "
            f"the network has only {shard.sizes[-1]} outputs"
        )


class OwnInputs:
    """Own rows of all inputs, kept in memory as stored (bits, bytes or floats).

    Parameters
    ----------
    samples : an open samples file; read once, here.
    rows : (n_in,) own rows of x^0, ascending.
    """

    def __init__(self, samples: Samples, rows: npt.NDArray[np.integer]) -> None:
        header = samples.header
        self.n_samples = header.n_samples
        self._packed, self._scale = header.packed, header.scale
        self._raw = samples.own(0, header.n_samples, rows)

    def fill(self, x: Floats, chosen: npt.NDArray[np.integer]) -> None:
        """Write some samples into the own rows of the first level.

        Parameters
        ----------
        x : (panels, n_ext, width) float array
            Its own rows are overwritten.
        chosen : (panels · width,) int array
            Sample numbers, 0-based.
        """
        panels, _, width = x.shape
        rows = len(self._raw)
        for panel in range(panels):
            picked = chosen[panel * width : (panel + 1) * width]
            x[panel, :rows] = self._take(picked)
            if self._scale != 1.0:
                x[panel, :rows] *= self._scale

    def _take(self, picked: npt.NDArray[np.integer]) -> npt.NDArray[Any]:
        if not self._packed:
            return self._raw[:, picked]
        return (self._raw[:, picked >> 3] >> (picked & 7).astype(np.uint8)) & 1
