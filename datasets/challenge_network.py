"""The official networks of the Sparse DNN Graph Challenge, by the rule behind its files.

Source: Kepner et al., "Sparse Deep Neural Network Graph Challenge", HPEC 2019.
The rule gives the 120 published files for N = 1024 byte for byte (a test).
With n' = N / 16 and m = log2 n', layer k (from 1) belongs to group
g = (k - 1) div m and has the base pattern i = (k - 1) mod m:

- base pattern i: output c takes input r iff (r - c) mod n' is 0 or 2^i;
- in groups g >= 1 the inputs are renumbered by a permutation p_g.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy import sparse

from hpc.io.errors import InputError
from hpc.io.network import Layer

BIASES = {1024: -0.3, 4096: -0.35, 16384: -0.4, 65536: -0.45}
"""Neurons per layer: the bias of every neuron."""
WEIGHT = 1 / 16
MAX_LAYERS = 1920
COPIES = 16
"""Inputs, and outputs, that share a residue modulo n'."""
STREAM_SEED = 5489
"""Seed of the one MT19937 stream from which the permutations of all sizes were drawn."""
STREAM_START = {1024: 0, 4096: 326_656, 16384: 1_305_600, 65536: 4_434_944}
"""Doubles of that stream before a size's own: those of the smaller sizes' 1,920 layers."""


def challenge_layers(neurons: int, n_layers: int, dtype: npt.DTypeLike) -> Iterator[Layer]:
    """Yield the layers of the official network, each (neurons, neurons) with 32 weights a row.

    Parameters
    ----------
    neurons : of every level, one of the Challenge's sizes.
    n_layers : at least 1.
    dtype : of the weights, float32 or float64.

    Yields
    ------
    Layer
        Columns ascending in each row; the bias of BIASES, the activation clipped-relu.

    Raises
    ------
    InputError : the Challenge has no network of this size.
    """
    if neurons not in BIASES or not 1 <= n_layers <= MAX_LAYERS:
        sizes = ", ".join(map(str, BIASES))
        raise InputError(
            f"no official network has {neurons} neurons and {n_layers} layers: "
            f"expected {sizes} neurons, 1..{MAX_LAYERS} layers"
        )
    for columns in _layer_columns(neurons, n_layers):
        yield _layer(columns, BIASES[neurons], dtype)


def _layer_columns(neurons: int, n_layers: int) -> Iterator[npt.NDArray[np.int32]]:
    """Yield per layer the inputs of each output, ascending: (neurons, 32) int32."""
    n_base = (neurons // COPIES).bit_length() - 1
    permutations = _permutations(neurons)
    for k in range(n_layers):
        group, step = divmod(k, n_base)
        base = _base_columns(neurons, step)
        if group and step == 0:
            permutation = next(permutations)
        yield np.sort(permutation[base], axis=1) if group else base


def _base_columns(neurons: int, step: int) -> npt.NDArray[np.int32]:
    """Return base pattern `step`: (neurons, 32) int32, ascending in each row."""
    residues = neurons // COPIES
    outputs = np.arange(neurons)[:, None]
    two = (outputs + np.array([0, 2**step])) % residues
    copies = residues * np.arange(COPIES)
    columns = (two[:, :, None] + copies).reshape(neurons, 2 * COPIES)
    return np.sort(columns.astype(np.int32), axis=1)


def _permutations(neurons: int) -> Iterator[npt.NDArray[np.int32]]:
    """Yield p_1, p_2, ...: (neurons,) int32 each."""
    stream = np.random.RandomState(STREAM_SEED)
    stream.random_sample(STREAM_START[neurons])
    while True:
        yield np.argsort(stream.random_sample(neurons), kind="stable").astype(np.int32)


def _layer(columns: npt.NDArray[np.int32], bias: float, dtype: npt.DTypeLike) -> Layer:
    neurons, fan_in = columns.shape
    indptr = np.arange(neurons + 1) * fan_in
    weight = sparse.csr_array(
        (np.full(columns.size, WEIGHT, dtype), columns.ravel(), indptr), shape=(neurons, neurons)
    )
    return Layer(weight, np.full(neurons, bias, dtype), "clipped-relu")
