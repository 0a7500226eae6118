"""Optimizers, in torch's definitions, in place and without allocation in the steady state."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
import numpy.typing as npt

from hpc.io.errors import InputError
from hpc.spdnn.option_values import OPTIMIZERS

Floats = npt.NDArray[np.floating]


class Optimizer(Protocol):
    """Updates parameter arrays; keeps slots of the same shape for each, by key.

    Attributes
    ----------
    slots : tuple of str
        Their names.
    step : int
        Steps begun, where that plays a part.
    """

    slots: tuple[str, ...]
    step: int

    def begin_step(self) -> None:
        """Count one step; call it once before the updates of a step."""

    def update(self, key: str, value: Floats, gradient: Floats) -> None:
        """Change a parameter array in place.

        Parameters
        ----------
        key : str
            Names the array, always the same one.
        value : float array
            Changed.
        gradient : float array
            Of the same shape; may be overwritten.
        """

    def slot(self, name: str, key: str, like: Floats) -> Floats:
        """Return a slot of the array of a key, made of zeros when first asked for.

        Parameters
        ----------
        name : str
            One of `slots`.
        key : str
            Of the array.
        like : float array
            Gives shape and dtype when the slot is made.

        Returns
        -------
        float array
            The slot itself, to be read or written.
        """


class SGD:
    """value -= lr · v with v = momentum · v + gradient (torch.optim.SGD).

    Parameters
    ----------
    lr : float
        Learning rate.
    momentum : float
        0 for none: then there are no slots.
    """

    def __init__(self, lr: float, momentum: float = 0.0) -> None:
        self.lr, self.momentum = lr, momentum
        self.slots: tuple[str, ...] = ("velocity",) if momentum else ()
        self.step = 0
        self._kept: dict[str, Floats] = {}

    def begin_step(self) -> None:
        """Do nothing: the step's number plays no part."""

    def update(self, key: str, value: Floats, gradient: Floats) -> None:
        """Change `value` in place.

        Parameters
        ----------
        key, value, gradient : see `Optimizer`
            The gradient is overwritten.
        """
        if self.momentum:
            velocity = self.slot("velocity", key, value)
            velocity *= self.momentum
            velocity += gradient
            gradient[...] = velocity
        gradient *= self.lr
        value -= gradient

    def slot(self, name: str, key: str, like: Floats) -> Floats:
        """Return the velocity of the array of a key.

        Parameters
        ----------
        name, key, like : see `Optimizer`
            The name is 'velocity'.

        Returns
        -------
        float array
            The slot itself.
        """
        return _kept(self._kept, f"{key}/{name}", like)


class Adam:
    """torch.optim.Adam: bias-corrected first and second moments.

    Parameters
    ----------
    lr : float
        Learning rate.
    betas : tuple of two floats
        Decay of the first and the second moment, each step.
    eps : float
        Added to the root of the second.
    """

    slots: tuple[str, ...] = ("first", "second")

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
        """Change `value` in place.

        Parameters
        ----------
        key, value, gradient : see `Optimizer`
            The gradient stays as it is.
        """
        beta1, beta2 = self.betas
        first = self.slot("first", key, value)
        second = self.slot("second", key, value)
        scratch = _kept(self._scratch, key, value)
        first *= beta1
        np.multiply(gradient, 1 - beta1, out=scratch)
        first += scratch
        second *= beta2
        np.multiply(gradient, gradient, out=scratch)
        scratch *= 1 - beta2
        second += scratch
        np.sqrt(second, out=scratch)
        scratch /= math.sqrt(1 - beta2**self.step)
        scratch += self.eps
        np.divide(first, scratch, out=scratch)
        scratch *= self.lr / (1 - beta1**self.step)
        value -= scratch

    def slot(self, name: str, key: str, like: Floats) -> Floats:
        """Return a moment of the array of a key.

        Parameters
        ----------
        name, key, like : see `Optimizer`
            The name is 'first' or 'second'.

        Returns
        -------
        float array
            The slot itself.
        """
        return _kept(self._moments, f"{key}/{name}", like)


def _kept(arrays: dict[str, Floats], key: str, like: Floats) -> Floats:
    """Return the array of a key, made of zeros when first asked for."""
    if key not in arrays:
        arrays[key] = np.zeros_like(like)
    return arrays[key]


def optimizer(name: str, lr: float) -> Optimizer:
    """Return an optimizer: sgd, momentum (0.9) or adam.

    Parameters
    ----------
    name : str
        'sgd', 'momentum' or 'adam'.
    lr : float
        Learning rate.

    Returns
    -------
    Optimizer
        With torch's defaults for the rest.

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
