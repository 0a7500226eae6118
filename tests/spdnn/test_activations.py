"""Activations are torch's, and an unknown one is an error wherever it is asked for."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from hpc.io.plan import block_plan
from hpc.io.shard import build_shard
from hpc.spdnn.activations import activate, multiply_by_derivative
from hpc.spdnn.fused_sum import FusedSum
from hpc.spdnn.kernels import Weights
from hpc.spdnn.numba_kernel import NumbaKernel
from tests.spdnn.serial import random_layers

OURS = {
    "identity": lambda z: z,
    "relu": torch.relu,
    "clipped-relu": lambda z: torch.clamp(z, 0, 1.5),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
}


@pytest.mark.parametrize("activation", OURS)
def test_values(activation):
    rng = np.random.default_rng(0)
    z, bias = rng.normal(0, 2, (7, 9)), rng.normal(size=7)
    wanted = OURS[activation](torch.from_numpy(z + bias[:, None]))
    activate(z, bias, activation, 1.5)
    np.testing.assert_allclose(z, wanted.numpy(), rtol=1e-12, atol=1e-12)


def test_an_unknown_activation_is_no_identity():
    z, empty = np.ones((2, 3), np.float32), np.empty(0, np.float32)
    with pytest.raises(KeyError, match="gelu"):
        activate(z, np.zeros(2), "gelu", 1.0)
    with pytest.raises(KeyError, match="gelu"):
        multiply_by_derivative(z, z, "gelu", 1.0, np.empty(6, np.float32))
    layers = random_layers((70, 90), 0.2, 1, np.float32)
    planned = replace(build_shard(layers, block_plan((70, 90), 1), 0).layers[0], activation="gelu")
    levels = np.ones((1, 70, 4), np.float32), np.ones((1, 90, 4), np.float32)
    weights = [Weights(planned.core)]
    with pytest.raises(KeyError, match="gelu"):
        FusedSum(NumbaKernel(1), planned, weights, planned.bias, levels, empty, empty)
