"""Networks for tests, and serial answers written without the engine: scipy loops and torch."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from hpc.io.network import Layer
from hpc.io.plan import Plan


def random_layers(sizes, density, seed, dtype=np.float64, activations=("relu",), bias=True):
    """Return irregular layers: rows and columns may be empty."""
    rng = np.random.default_rng(seed)
    layers = []
    for k, (n_in, n_out) in enumerate(pairwise(sizes)):
        dense = rng.uniform(-1, 1, (n_out, n_in)) * (rng.random((n_out, n_in)) < density)
        weight = sparse.csr_array(dense.astype(dtype))
        weight.sort_indices()
        offset = rng.uniform(-0.3, 0.3, n_out) if bias else np.zeros(n_out)
        layers.append(Layer(weight, offset.astype(dtype), activations[k % len(activations)], 1.0))
    return layers


def random_plan(sizes, parts, seed):
    """Return a plan whose owners are drawn freely: some ranks may own nothing of a level."""
    rng = np.random.default_rng(seed)
    owners = tuple(rng.integers(0, parts, n).astype(np.int32) for n in sizes)
    return Plan(parts, owners, "", {"method": "test"})


def serial_forward(layers, x):
    """Return every level's values by a plain scipy loop."""
    levels = [x]
    for layer in layers:
        z = layer.weight @ levels[-1] + layer.bias[:, None]
        levels.append(serial_activation(z, layer))
    return levels


def serial_activation(z, layer):
    return {
        "identity": lambda: z,
        "relu": lambda: np.where(z > 0, z, 0),
        "clipped-relu": lambda: np.minimum(np.where(z > 0, z, 0), layer.clip),
        "sigmoid": lambda: 1 / (1 + np.exp(-z)),
        "tanh": lambda: np.tanh(z),
    }[layer.activation]()


class TorchNetwork:
    """The same network in torch, dense weights masked to the pattern; float64."""

    def __init__(self, layers):
        import torch

        self.torch = torch
        self.layers = layers
        self.patterns = [torch.tensor(layer.weight.toarray() != 0) for layer in layers]
        self.weights = [
            torch.tensor(layer.weight.toarray(), requires_grad=True) for layer in layers
        ]
        self.biases = [torch.tensor(layer.bias.copy(), requires_grad=True) for layer in layers]

    def forward(self, x):
        """Return the last level, (batch, n_L)."""
        torch = self.torch
        value = torch.tensor(x.T.copy())
        for layer, weight, pattern, bias in zip(
            self.layers, self.weights, self.patterns, self.biases, strict=True
        ):
            value = value @ (weight * pattern).T + bias
            value = {
                "identity": lambda v: v,
                "relu": torch.relu,
                "clipped-relu": lambda v, c=layer.clip: torch.nn.functional.hardtanh(v, 0.0, c),
                "sigmoid": torch.sigmoid,
                "tanh": torch.tanh,
            }[layer.activation](value)
        return value

    def loss(self, x, labels, name):
        """Return the mean loss."""
        torch = self.torch
        out, wanted = self.forward(x), torch.tensor(labels.astype(np.int64))
        if name == "cross-entropy":
            return torch.nn.functional.cross_entropy(out, wanted)
        target = torch.nn.functional.one_hot(wanted, out.shape[1]).double()
        return torch.nn.functional.mse_loss(out, target)
