"""What the epochs of a distillation gave."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Losses = npt.NDArray[np.float64]


@dataclass
class History:
    """What the epochs gave, whole on all ranks once the run is over.

    Attributes
    ----------
    losses, validation_losses : (epochs, B) float64 array
        NaN where there was no validation.
    accuracies : list of float or None
        Of the assembled student, by epoch, in [0, 1]; None for baselines, which have none before
        their end.
    """

    losses: Losses
    validation_losses: Losses
    accuracies: list[float | None]

    def kept(self) -> dict[str, npt.NDArray[Any]]:
        """Return it as arrays by name, for a checkpoint.

        Returns
        -------
        dict of str to array
            Copies; accuracies as (epochs,) float64, NaN for none.
        """
        accuracies = [np.nan if found is None else found for found in self.accuracies]
        return {
            "losses": self.losses.copy(),
            "validation_losses": self.validation_losses.copy(),
            "accuracies": np.array(accuracies, np.float64),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `kept` gave.

        Parameters
        ----------
        arrays : mapping of str to array
            Of a run with as many epochs and blocks.
        """
        self.losses[:] = arrays["losses"]
        self.validation_losses[:] = arrays["validation_losses"]
        found = arrays["accuracies"].tolist()
        self.accuracies[:] = [None if np.isnan(value) else value for value in found]
