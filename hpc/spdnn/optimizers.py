"""Optimizers, in torch's definitions, in place and without allocation in the steady state."""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from hpc.io.errors import InputError

Floats = npt.NDArray[np.floating]


class Optimizer(Protocol):
    """Updates parameter arrays; keeps state per array, by key."""

    def begin_step(self) -> None:
        """Count one step; call it once before the updates of a step."""

    def update(self, key: str, value: Floats, gradient: Floats) -> None:
        """Change `value` in place; `gradient`, of the same shape, may be overwritten."""

    def state(self) -> dict[str, Floats]:
        """Return the state arrays by name: what a checkpoint keeps."""


class SGD:
    """value -= lr · v with v = momentum · v + gradient (torch.optim.SGD)."""

    def __init__(self, lr: float, momentum: float = 0.0) -> None:
        self.lr, self.momentum = lr, momentum
        self._velocity: dict[str, Floats] = {}

    def begin_step(self) -> None:
        """Do nothing: the step's number plays no part."""

    def update(self, key: str, value: Floats, gradient: Floats) -> None:
        """Change `value` in place."""
        if self.momentum:
            velocity = self._velocity.setdefault(key, np.zeros_like(value))
            velocity *= self.momentum
            velocity += gradient
            gradient[...] = velocity
        gradient *= self.lr
        value -= gradient

    def state(self) -> dict[str, Floats]:
        """Return the velocities."""
        return self._velocity


class Adam:
    """torch.optim.Adam: bias-corrected first and second moments."""

    def __init__(
        self, lr: float, betas: tuple[float, float] = (0.9, 0.999), eps: float = 1e-8
    ) -> None:
        self.lr, self.betas, self.eps = lr, betas, eps
        self.step = 0
        self._moments: dict[str, Floats] = {}
        self._scratch: dict[str, Floats] = {}

    def begin_step(self) -> None:
        """Count one step."""
        self.step += 1

    def update(self, key: str, value: Floats, gradient: Floats) -> None:
        """Change `value` in place."""
        beta1, beta2 = self.betas
        first = self._moments.setdefault(f"{key}/first", np.zeros_like(value))
        second = self._moments.setdefault(f"{key}/second", np.zeros_like(value))
        scratch = self._scratch.setdefault(key, np.empty_like(value))
        first *= beta1
        np.multiply(gradient, 1 - beta1, out=scratch)
        first += scratch
        second *= beta2
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - beta2
        second += scratch
        np.sqrt(second, out=scratch)
        scratch /= np.sqrt(1 - beta2**self.step)
        scratch += self.eps
        np.divide(first, scratch, out=scratch)
        scratch *= self.lr / (1 - beta1**self.step)
        value -= scratch

    def state(self) -> dict[str, Floats]:
        """Return the moments."""
        return self._moments


OPTIMIZERS = ("sgd", "momentum", "adam")


def optimizer(name: str, lr: float) -> Optimizer:
    """Return an optimizer: sgd, momentum (0.9) or adam.

    Raises
    ------
    InputError : unknown name; a learning rate that is not positive and finite.
    """
    if not (np.isfinite(lr) and lr > 0):
        raise InputError(f"learning rate {lr}: expected a positive number")
    if name == "sgd":
        return SGD(lr)
    if name == "momentum":
        return SGD(lr, momentum=0.9)
    if name == "adam":
        return Adam(lr)
    raise InputError(f"optimizer '{name}': expected one of {', '.join(OPTIMIZERS)}")
