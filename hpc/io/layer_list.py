"""A network in memory: a list of layers, as users have them, checked and put into order."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hpc.io.arguments import NUMBER, as_array, check_argument, shown
from hpc.io.errors import InputError
from hpc.io.fingerprint import Fingerprint
from hpc.io.network import (
    ACTIVATIONS,
    CHALLENGE_CLIP,
    FLOATS,
    Layer,
    NetworkHeader,
    Rows,
    check_rows,
)

Given = Layer | tuple[Any, ...]
"""A layer, or its (weight, bias, activation) or (weight, bias, activation, clip)."""


def layer_list(network: Sequence[Given]) -> list[Layer]:
    """Return the layers of a user's network.

    Parameters
    ----------
    network : of each layer a `Layer` or its parts. weight : (n_out, n_in), any matrix of scipy or
        a dense array; bias : (n_out,), a number, or None for 0; activation : of ACTIVATIONS;
        clip : of clipped-relu. All weights are float32, or all float64.

    Returns
    -------
    CSR layers with sorted columns; what had that form is not copied.

    Raises
    ------
    InputError : names the layer (from 1) and what is wrong with it.
    """
    layers = [_layer(given, f"network: layer {k}") for k, given in enumerate(_listed(network), 1)]
    if not layers:
        raise InputError("network: no layers")
    for k, (below, layer) in enumerate(pairwise(layers), 2):
        if layer.weight.shape[1] != below.weight.shape[0]:
            raise InputError(
                f"network: layer {k} takes {layer.weight.shape[1]} inputs, the level below it has "
                f"{below.weight.shape[0]} neurons"
            )
    dtypes = sorted({layer.weight.dtype.name for layer in layers})
    if len(dtypes) > 1:
        raise InputError(f"network: weights of {' and '.join(dtypes)}, expected one dtype")
    return layers


def _listed(network: Any) -> list[Any]:
    """Return what stands in a list of layers, whatever it is."""
    is_array = hasattr(network, "shape")
    if is_array or isinstance(network, str | Mapping) or not isinstance(network, Iterable):
        raise InputError(
            f"network: {shown(network)}, expected a path, or a list of (weight, bias, activation)"
        )
    return list(network)


def _layer(given: Given, where: str) -> Layer:
    if isinstance(given, Layer):
        given = (given.weight, given.bias, given.activation, given.clip)
    if not isinstance(given, tuple) or len(given) not in (3, 4):
        raise InputError(f"{where}: {shown(given)}, expected (weight, bias, activation) or a Layer")
    weight, bias, activation, *clip = given
    matrix = _csr(weight, where)
    if activation not in ACTIVATIONS:
        raise InputError(
            f"{where}: activation {activation!r}, expected one of {', '.join(ACTIVATIONS)}"
        )
    n_out, n_in = matrix.shape
    values = _bias(bias, n_out, where)
    if clip:
        check_argument(f"{where}: clip", clip[0], NUMBER)
    values = np.ascontiguousarray(np.broadcast_to(values, (n_out,)), matrix.dtype)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
    check_rows(Rows(indptr, indices, matrix.data, values), n_in, where)
    return Layer(matrix, values, activation, float(clip[0]) if clip else CHALLENGE_CLIP)


def _bias(bias: Any, n_out: int, where: str) -> npt.NDArray[Any]:
    if bias is None or NUMBER.holds(bias):
        return np.asarray(0.0 if bias is None else bias)
    expected = f"({n_out},) numbers, one number or None"
    values = as_array(f"{where}: bias", bias, expected)
    if values.dtype.kind not in "biuf":
        raise InputError(f"{where}: bias: {shown(bias)}, expected {expected}")
    if values.shape != (n_out,):
        raise InputError(f"{where}: bias of shape {values.shape}, expected ({n_out},)")
    return values


def _csr(weight: Any, where: str) -> sparse.csr_array:
    try:
        matrix = sparse.csr_array(weight)
    except (TypeError, ValueError, RuntimeError) as error:  # RuntimeError: torch's
        raise InputError(f"{where}: weight is no matrix ({error})") from error
    if matrix.ndim != 2 or matrix.dtype.name not in FLOATS:
        raise InputError(
            f"{where}: weight of shape {matrix.shape} {matrix.dtype}, expected a matrix of "
            f"{' or '.join(FLOATS)}"
        )
    if not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def digest_of_values(layers: Sequence[Layer]) -> str:
    """Return what tells networks of one pattern apart. Pure.

    Parameters
    ----------
    layers : from `layer_list`.

    Returns
    -------
    16 hexadecimal digits of BLAKE2b over weights, biases, activations and clips.
    """
    digest = hashlib.blake2b(digest_size=8)
    for layer in layers:
        for values in (layer.weight.data, layer.bias):
            digest.update(np.ascontiguousarray(values).data)
        digest.update(f"{layer.activation} {layer.clip!r}".encode())
    return digest.hexdigest()


def header_of_layers(layers: Sequence[Layer]) -> NetworkHeader:
    """Return the header that a file of these layers would have. Pure.

    Parameters
    ----------
    layers : from `layer_list`.

    Returns
    -------
    The header; its path is 'network', for messages.
    """
    sizes = (layers[0].weight.shape[1], *(layer.weight.shape[0] for layer in layers))
    pattern = Fingerprint()
    for layer in layers:
        pattern.add(layer.weight.indptr, layer.weight.indices)
    return NetworkHeader(
        "network",
        sizes,
        tuple(layer.weight.nnz for layer in layers),
        tuple(layer.activation for layer in layers),
        tuple(layer.clip for layer in layers),
        layers[0].weight.dtype,
        pattern.text(sizes),
    )
