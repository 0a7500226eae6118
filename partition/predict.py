"""How long a plan will take, from what it sends and holds and what that costs. Pure."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hpc.io.errors import InputError
from hpc.io.machine import Costs, Numbers, work
from hpc.io.plan import Plan

KINDS = ("compute", "latency", "bandwidth", "imbalance")


@dataclass(frozen=True)
class Prediction:
    """Seconds of a batch by layer and kind: (L, 4) in the order of KINDS.

    compute, latency, bandwidth : of a rank on average. imbalance : what the slowest rank of the
    layer takes on top; all ranks wait for it.
    """

    parts: int
    seconds: Numbers

    @property
    def total_s(self) -> float:
        """Seconds of a batch through all layers."""
        return float(self.seconds.sum())

    def by_kind(self) -> dict[str, float]:
        """Return the seconds of a batch by kind.

        Returns
        -------
        dict of str to float
            KINDS and their seconds, in that order; their sum is `total_s`.
        """
        return dict(zip(KINDS, self.seconds.sum(axis=0).tolist(), strict=True))


def predict(plan: Plan, costs: Costs, batch: int) -> Prediction:
    """Return what a batch takes under a plan: a layer is done when its slowest rank is.

    Parameters
    ----------
    plan : with its traffic.
    costs : of inference, or of training for a step.
    batch : inputs at a time.

    Returns
    -------
    Seconds, layer by layer.

    Raises
    ------
    InputError : a batch below 1; a plan without its traffic.
    """
    if batch < 1:
        raise InputError(f"--batch {batch}: expected 1 or more")
    traffic = plan.traffic
    if traffic is None:
        raise InputError("the plan holds no traffic; make it with 'python -m partition build'")
    rows = np.stack([np.bincount(level, minlength=plan.parts) for level in plan.owners[1:]])
    amounts = work(batch, traffic.edges, rows, traffic.messages, traffic.words)
    rates = np.stack([costs.at(held, batch).array() for held in rows.mean(axis=1)], axis=1)
    terms = rates[:, :, None] * amounts
    kinds = np.stack((terms[:3].sum(axis=0), terms[3], terms[4]), axis=-1)
    average = kinds.mean(axis=1)
    slowest = kinds.sum(axis=2).max(axis=1)
    imbalance = slowest - average.sum(axis=1)
    return Prediction(plan.parts, np.column_stack((average, imbalance)))
