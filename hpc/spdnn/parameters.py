"""A layer's trainable numbers on one rank: weights and bias in flat arrays, with gradients."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import numpy.typing as npt

from hpc.io.shard import LayerShard
from hpc.spdnn.kernels import SampledOuter, Weights

Floats = npt.NDArray[np.floating]


class LayerParameters:
    """Weights and bias of one layer on one rank.

    Parameters
    ----------
    layer : LayerShard
        Its weights and bias are copied.
    dtype : dtype-like
        Of the numbers here.

    Attributes
    ----------
    values : (nnz,) array
        All weights, core part first, then by source.
    bias : (n_out,) array
        Of the own rows.
    gradients : (nnz + n_out,) array
        Both gradients, in one piece so that one sum over ranks takes both.
    gradient, bias_gradient : arrays
        Its two parts, of the shapes of values and bias.
    weights : list of Weights
        The kernel's views [core, parts ...] into `values`.
    outers : list of SampledOuter
        The same parts' views into `gradient`.
    """

    def __init__(self, layer: LayerShard, dtype: npt.DTypeLike) -> None:
        parts = (layer.core, *layer.parts)
        self.values = np.concatenate([part.data for part in parts]).astype(dtype, copy=False)
        self.bias = layer.bias.astype(dtype)
        self.gradients = np.zeros(self.values.size + self.bias.size, dtype)
        self.gradient, self.bias_gradient = np.split(self.gradients, [self.values.size])
        bounds = np.cumsum([0, *(len(part.data) for part in parts)])
        spans = [slice(start, stop) for start, stop in pairwise(bounds.tolist())]
        self.weights = [
            Weights(part, self.values[span]) for part, span in zip(parts, spans, strict=True)
        ]
        self.outers = [
            SampledOuter(weights, self.gradient[span])
            for weights, span in zip(self.weights, spans, strict=True)
        ]

    def changed(self) -> None:
        """Note that `values` were updated in place."""
        for weights in self.weights:
            weights.changed()
