"""Network files for the tests of plans."""

from __future__ import annotations

import numpy as np

from datasets.challenge_network import challenge_layers
from hpc.io.network import write_network


def challenge_file(folder, n_layers=4):
    """Write the first layers of the Challenge's network of 1,024 neurons."""
    path = folder / "challenge.h5"
    write_network(path, 1024, challenge_layers(1024, n_layers, np.float32))
    return path


def network_file(folder, layers):
    """Write any layers."""
    path = folder / "net.h5"
    write_network(path, layers[0].weight.shape[1], layers)
    return path
