"""Modules of torch as sparse layers; what has no exact counterpart is refused by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import torch
from scipy import sparse
from torch import nn

from datasets.toeplitz import Pair, Sliding, average_share, convolution, pooling
from hpc.io.errors import InputError
from hpc.io.network import Layer

Floats = npt.NDArray[np.floating]
Shape = tuple[int, ...]
ACTIVATIONS: dict[type[nn.Module], str] = {
    nn.ReLU: "relu",
    nn.Sigmoid: "sigmoid",
    nn.Tanh: "tanh",
}


@dataclass(frozen=True)
class Affine:
    """W x + b, then an activation once one follows. shape : what comes out, (C, H, W) or (n,)."""

    weight: sparse.csr_array
    bias: Floats
    shape: Shape
    activation: str = "identity"

    def layer(self) -> Layer:
        """Return the layer of a network file.

        Returns
        -------
        It, columns sorted, without stored zeros.
        """
        weight = self.weight
        weight.sum_duplicates()
        weight.eliminate_zeros()
        return Layer(weight, self.bias, self.activation)


def sparse_layers(model: nn.Module, shape: Shape) -> list[Layer]:
    """Return the layers of a Sequential model in evaluation mode, for one input of `shape`.

    Parameters
    ----------
    model : an nn.Sequential, or one module; weights of float32 or float64.
    shape : of one input, (C, H, W) or (n,).

    Returns
    -------
    A layer for each affine module, with the activation that follows it; one of the identity for an
    activation that follows none.

    Raises
    ------
    InputError : names the module that has no exact sparse counterpart, or does not fit.
    """
    _check_numbers(model)
    done: list[Affine] = []
    dtype = next((p.detach().numpy().dtype for p in model.parameters()), np.dtype(np.float32))
    for name, module in _flat(model, ""):
        kind = type(module)
        try:
            if kind in ACTIVATIONS:
                _activate(done, ACTIVATIONS[kind], shape, dtype)
            elif kind is nn.Flatten:
                shape = _flattened(module, shape)
            elif kind is nn.BatchNorm2d:
                _normalise(done, module, shape, dtype)
            elif kind in AFFINE:
                done.append(AFFINE[kind](module, shape, dtype))
                shape = done[-1].shape
            else:
                raise InputError(f"expected one of {', '.join(sorted(KNOWN))}")
        except InputError as error:
            raise InputError(f"module {name} ({module}): {error}") from error
    if not done:
        raise InputError("the model has no layer")
    return [affine.layer() for affine in done]


def _flat(module: nn.Module, name: str) -> list[tuple[str, nn.Module]]:
    if type(module) is not nn.Sequential:
        return [(name or "0", module)]
    prefix = f"{name}." if name else ""
    every = module.named_modules(remove_duplicate=False)  # a module may stand in two places
    children = [(child, inner) for child, inner in every if child and "." not in child]
    return [one for child, inner in children for one in _flat(inner, f"{prefix}{child}")]


def _check_numbers(model: nn.Module) -> None:
    """Raise InputError for weights that are not numbers of a network file."""
    for name, tensor in (*model.named_parameters(), *model.named_buffers()):
        if tensor.is_meta:
            raise InputError(f"{name} has no values: it is on torch's device meta")
        if tensor.is_floating_point() and tensor.dtype not in (torch.float32, torch.float64):
            raise InputError(
                f"{name} is {tensor.dtype}, expected float32 or float64: model.float()"
            )


def _image(shape: Shape) -> tuple[int, Pair]:
    if len(shape) != 3:
        raise InputError(f"takes an image (C, H, W), found {len(shape)} dimension(s)")
    return shape[0], (shape[1], shape[2])


def _activate(done: list[Affine], activation: str, shape: Shape, dtype: np.dtype) -> None:
    if not done or done[-1].activation != "identity":
        done.append(_unchanged(shape, dtype))
    done[-1] = replace(done[-1], activation=activation)


def _unchanged(shape: Shape, dtype: np.dtype) -> Affine:
    n = int(np.prod(shape))
    return Affine(sparse.eye_array(n, dtype=dtype, format="csr"), np.zeros(n, dtype), shape)


def _flattened(module: nn.Flatten, shape: Shape) -> Shape:
    if module.start_dim != 1 or module.end_dim not in (-1, len(shape)):
        raise InputError("expected all dimensions flattened")
    return (int(np.prod(shape)),)


def _normalise(done: list[Affine], module: nn.BatchNorm2d, shape: Shape, dtype: np.dtype) -> None:
    """Fold a batch normalisation (running statistics) into the layer below."""
    channels, size = _image(shape)
    if module.running_mean is None or module.running_var is None:
        raise InputError("expected running statistics")
    if module.num_features != channels:
        raise InputError(f"takes {module.num_features} channels, found {channels}")
    if not done or done[-1].activation != "identity":
        done.append(_unchanged(shape, dtype))
    mean, variance = _array(module.running_mean), _array(module.running_var)
    scale = 1 / np.sqrt(variance.astype(np.float64) + module.eps)
    shift = -mean * scale
    if module.affine:
        gain = _array(module.weight)
        scale, shift = scale * gain, shift * gain + _array(module.bias)
    scale, shift = (np.repeat(one, int(np.prod(size))) for one in (scale, shift))
    weight = sparse.csr_array(sparse.diags_array(scale) @ done[-1].weight).astype(dtype)
    bias = (done[-1].bias * scale + shift).astype(dtype)
    done[-1] = replace(done[-1], weight=weight, bias=bias)


def _linear(module: nn.Linear, shape: Shape, dtype: np.dtype) -> Affine:
    if shape != (module.in_features,):
        raise InputError(f"takes {module.in_features} numbers, found {shape}")
    weight = sparse.csr_array(_array(module.weight))
    return Affine(weight, _bias(module, module.out_features, dtype), (module.out_features,))


def _convolution(module: nn.Conv2d, shape: Shape, dtype: np.dtype) -> Affine:
    channels, size = _image(shape)
    if channels != module.in_channels:
        raise InputError(f"takes {module.in_channels} channels, found {channels}")
    if module.padding_mode != "zeros":
        raise InputError(f"padding mode '{module.padding_mode}', expected 'zeros'")
    kernel, dilation = _pair(module.kernel_size), _pair(module.dilation)
    padding = _conv_padding(module.padding, kernel, dilation)
    window = _fitting(Sliding(kernel, _pair(module.stride), padding, dilation), size)
    weight = convolution(_array(module.weight), window, size, module.groups)
    bias = _bias(module, module.out_channels, dtype)
    per_pixel = np.repeat(bias, int(np.prod(window.output(size))))
    return Affine(weight, per_pixel, (module.out_channels, *window.output(size)))


def _conv_padding(padding: object, kernel: Pair, dilation: Pair) -> tuple[Pair, Pair]:
    """Return what torch's padding, a number, a pair, 'valid' or 'same', adds on either side."""
    if padding == "same":
        total = [dilation[axis] * (kernel[axis] - 1) for axis in (0, 1)]
        return (total[0] // 2, total[0] - total[0] // 2), (total[1] // 2, total[1] - total[1] // 2)
    return _both_sides(_pair(0 if padding == "valid" else padding))


def _average(module: nn.AvgPool2d, shape: Shape, dtype: np.dtype) -> Affine:
    channels, size = _image(shape)
    window = _pool_window(module, size)
    share = average_share(window, size, module.count_include_pad, dtype.type)
    if module.divisor_override:
        share = np.full_like(share, 1 / module.divisor_override)
    weight = pooling(channels, window, size, share)
    bias = np.zeros(weight.shape[0], dtype)
    return Affine(weight, bias, (channels, *window.output(size)))


def _maximum(module: nn.MaxPool2d, shape: Shape, dtype: np.dtype) -> Affine:
    """Take every stride-th pixel: the maximum of one number is the only linear one."""
    channels, size = _image(shape)
    if _pair(module.kernel_size) != (1, 1) or module.return_indices:
        raise InputError("the maximum of several numbers is not linear; expected kernel size 1")
    window = _pool_window(module, size)
    share = np.ones(int(np.prod(window.output(size))), dtype)
    weight = pooling(channels, window, size, share)
    return Affine(weight, np.zeros(weight.shape[0], dtype), (channels, *window.output(size)))


def _pool_window(module: nn.AvgPool2d | nn.MaxPool2d, size: Pair) -> Sliding:
    if module.ceil_mode:
        raise InputError("ceil_mode is not supported")
    kernel = _pair(module.kernel_size)
    stride = _pair(module.stride) if module.stride is not None else kernel
    dilation = _pair(getattr(module, "dilation", 1))
    return _fitting(Sliding(kernel, stride, _both_sides(_pair(module.padding)), dilation), size)


def _fitting(window: Sliding, size: Pair) -> Sliding:
    """Return the window; raise InputError where an image of this size has no place for it."""
    if min(window.output(size)) < 1:
        raise InputError(f"its kernel is larger than the padded image, {size[0]}x{size[1]}")
    return window


def _both_sides(padding: Pair) -> tuple[Pair, Pair]:
    return (padding[0], padding[0]), (padding[1], padding[1])


def _pair(value: object) -> Pair:
    pair = value if isinstance(value, tuple) else (value, value)
    return int(pair[0]), int(pair[1])


def _bias(module: nn.Linear | nn.Conv2d, n: int, dtype: np.dtype) -> Floats:
    return np.zeros(n, dtype) if module.bias is None else _array(module.bias)


def _array(tensor: torch.Tensor) -> Floats:
    array: Floats = tensor.detach().cpu().numpy()
    return array


AFFINE: dict[type[nn.Module], Callable[..., Affine]] = {
    nn.Linear: _linear,
    nn.Conv2d: _convolution,
    nn.AvgPool2d: _average,
    nn.MaxPool2d: _maximum,
}
KNOWN = [kind.__name__ for kind in (*AFFINE, *ACTIVATIONS, nn.BatchNorm2d, nn.Flatten)]
