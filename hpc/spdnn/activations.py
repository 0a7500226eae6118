"""Activation functions and their derivatives, in place, on panels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.floating]


def activate(z: Floats, bias: Floats, activation: str, clip: float) -> None:
    """Replace z by f(z + bias).

    Parameters
    ----------
    z : (rows, width) float array
        One panel, overwritten.
    bias : (rows,) float array
        Added to every column.
    activation : str
        'identity', 'relu', 'clipped-relu', 'sigmoid' or 'tanh'.
    clip : float
        Upper limit of 'clipped-relu'; the others have none.

    Raises
    ------
    KeyError : another activation.
    """
    curve = curve_of(activation)
    z += bias[:, None]
    if activation == "relu":
        np.maximum(z, 0, out=z)
    elif activation == "clipped-relu":
        np.clip(z, 0, clip, out=z)
    elif curve is not None:
        curve(z)


def curve_of(activation: str) -> Callable[[Floats], None] | None:
    """Return what puts an activation in the place of z, for those that are no mere limits of it.

    Parameters
    ----------
    activation : str
        See `activate`.

    Returns
    -------
    callable or None
        None for 'identity', 'relu' and 'clipped-relu'.

    Raises
    ------
    KeyError : another activation.
    """
    return None if activation in ("identity", "relu", "clipped-relu") else _CURVES[activation]


def _sigmoid(z: Floats) -> None:
    """Replace z by 1 / (1 + exp(-z)) = (1 + tanh(z / 2)) / 2, which cannot overflow."""
    z *= 0.5
    np.tanh(z, out=z)
    z += 1
    z *= 0.5


def _tanh_of(z: Floats) -> None:
    np.tanh(z, out=z)


_CURVES: dict[str, Callable[[Floats], None]] = {"sigmoid": _sigmoid, "tanh": _tanh_of}


def multiply_by_derivative(
    delta: Floats, x: Floats, activation: str, clip: float, scratch: Floats
) -> None:
    """Multiply delta by f'(z), written in terms of x = f(z).

    At the kinks the derivative is 0, as torch's relu has it.

    Parameters
    ----------
    delta : (rows, width) float array
        Overwritten by the product.
    x : (rows, width) float array
        Output of the activation.
    activation : str
        'identity', which changes nothing, or one of those of `activate`.
    clip : float
        Upper limit of 'clipped-relu'; the others have none.
    scratch : flat float array
        At least rows · width numbers, overwritten.

    Raises
    ------
    KeyError : another activation.
    """
    if activation != "identity":
        slope = scratch[: delta.size].reshape(delta.shape)
        _DERIVATIVES[activation](x, clip, slope)
        delta *= slope


def _relu(x: Floats, clip: float, slope: Floats) -> None:
    np.sign(x, out=slope)


def _clipped_relu(x: Floats, clip: float, slope: Floats) -> None:
    np.sign(x, out=slope)
    slope *= x < clip


def _sigmoid_slope(x: Floats, clip: float, slope: Floats) -> None:
    np.subtract(1, x, out=slope)
    slope *= x


def _tanh(x: Floats, clip: float, slope: Floats) -> None:
    np.multiply(x, x, out=slope)
    np.subtract(1, slope, out=slope)


_DERIVATIVES: dict[str, Callable[[Floats, float, Floats], None]] = {
    "relu": _relu,
    "clipped-relu": _clipped_relu,
    "sigmoid": _sigmoid_slope,
    "tanh": _tanh,
}
