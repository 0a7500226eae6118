"""How weights are updated: stochastic gradient descent and its learning rate over a run."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import torch
from torch import nn

from hpc.io.arguments import FLAG, NUMBER, TEXT, check_arguments
from hpc.io.errors import InputError

Schedule = Literal["constant", "cosine"]
SCHEDULES: tuple[Schedule, ...] = get_args(Schedule)
MOST_LR = 1e30
SETTINGS = {
    **dict.fromkeys(("lr", "momentum", "weight_decay"), NUMBER),
    "nesterov": FLAG,
    "schedule": TEXT,
}
"""What the settings may be."""


@dataclass(frozen=True)
class SgdSettings:
    """Settings of torch.optim.SGD, the rate of the first step, and how the rate goes on.

    Attributes
    ----------
    lr : rate of the first step.
    momentum : as torch's.
    nesterov : as torch's.
    weight_decay : as torch's.
    schedule : 'constant', or 'cosine' from `lr` to 0 over the run, step by step.
    """

    lr: float
    momentum: float = 0.0
    nesterov: bool = False
    weight_decay: float = 0.0
    schedule: Schedule = "constant"

    def check(self) -> None:
        """Check types and ranges.

        Raises
        ------
        InputError : names the setting, what came and what is expected.
        """
        check_arguments(SETTINGS, **vars(self))
        if not 0 < self.lr < MOST_LR:
            raise InputError(f"lr {self.lr}: expected a positive number below {MOST_LR:g}")
        for name in ("momentum", "weight_decay"):
            if not 0 <= getattr(self, name) < math.inf:
                raise InputError(f"{name} {getattr(self, name)}: expected a number of at least 0")
        if self.nesterov and not self.momentum:
            raise InputError("nesterov: needs a momentum above 0")
        if self.schedule not in SCHEDULES:
            raise InputError(f"schedule {self.schedule!r}: expected {' or '.join(SCHEDULES)}")

    def build(self, parameters: Iterable[nn.Parameter]) -> torch.optim.SGD:
        """Return the optimizer of `parameters`.

        Parameters
        ----------
        parameters : to be trained.

        Returns
        -------
        The optimizer.
        """
        return torch.optim.SGD(
            parameters,
            lr=self.lr,
            momentum=self.momentum,
            nesterov=self.nesterov,
            weight_decay=self.weight_decay,
        )

    def lr_at(self, progress: float) -> float:
        """Return the rate of a step when `progress`, in [0, 1), of the run's steps are done.

        Parameters
        ----------
        progress : share of the run's steps that are done, in [0, 1).

        Returns
        -------
        The rate.
        """
        if self.schedule == "constant":
            return self.lr
        return self.lr * 0.5 * (1 + math.cos(math.pi * progress))


def set_lr(optimizer: torch.optim.Optimizer, lr: float) -> None:
    """Give all parameter groups the rate `lr`.

    Parameters
    ----------
    optimizer : any of torch's.
    lr : the rate.
    """
    for group in optimizer.param_groups:
        group["lr"] = lr


def rated(settings: SgdSettings, lr: float | None) -> SgdSettings:
    """Return the settings with the rate that the user gave, if any.

    Parameters
    ----------
    settings : of SGD.
    lr : the rate; None: as it is.

    Returns
    -------
    The settings.

    Raises
    ------
    InputError : a rate that is not positive, or so large that float32 does not hold its multiples.
    """
    if lr is None:
        return settings
    if not 0 < lr < MOST_LR:
        raise InputError(f"--lr {lr}: expected a positive number below {MOST_LR:g}")
    return replace(settings, lr=lr)
