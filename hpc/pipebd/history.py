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

    losses, validation_losses : (epochs, B) float64; NaN where there was no validation.
    accuracies : of the assembled student, by epoch; None for baselines, which have none before
        their end.
    """

    losses: Losses
    validation_losses: Losses
    accuracies: list[float | None]

    def kept(self) -> dict[str, npt.NDArray[Any]]:
        """Return it as arrays by name."""
        accuracies = [np.nan if found is None else found for found in self.accuracies]
        return {
            "losses": self.losses.copy(),
            "validation_losses": self.validation_losses.copy(),
            "accuracies": np.array(accuracies, np.float64),
        }

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Take over what `kept` gave."""
        self.losses[:] = arrays["losses"]
        self.validation_losses[:] = arrays["validation_losses"]
        found = arrays["accuracies"].tolist()
        self.accuracies[:] = [None if np.isnan(value) else value for value in found]
