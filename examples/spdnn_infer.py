"""Your own sparse network through the engine: `mpirun -n 2 python examples/spdnn_infer.py`.

Every rank makes the same network and the same inputs; a rank computes and sends its share.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from mpi4py import MPI
from scipy import sparse

import hpc.spdnn

SIZES = (200, 400, 400, 50)


def make_network() -> list[tuple[sparse.csr_array, np.ndarray, str]]:
    """Return (weight, bias, activation) of each layer, 5 % of the weights not zero."""
    rng = np.random.default_rng(0)
    layers = []
    for n_in, n_out in pairwise(SIZES):
        weight = sparse.random_array((n_out, n_in), density=0.05, rng=rng, dtype=np.float64)
        bias = rng.uniform(-0.3, 0.3, n_out).astype(np.float32)
        layers.append((sparse.csr_array(weight.astype(np.float32)), bias, "relu"))
    return layers


def serial(network: list[tuple[sparse.csr_array, np.ndarray, str]], x: np.ndarray) -> np.ndarray:
    """Return the last level by a plain loop of scipy, (n, n_L)."""
    level = x.T
    for weight, bias, _ in network:
        level = np.maximum(weight @ level + bias[:, None], 0)
    return level.T


comm = MPI.COMM_WORLD
network = make_network()
x = np.random.default_rng(1).random((1000, SIZES[0])).astype(np.float32)  # a sample a row
answer = hpc.spdnn.infer(comm, network, x, scores=True)  # plan="plan.h5" of `partition build`
if answer.scores is not None:  # on rank 0
    expected = serial(network, x)
    print(f"{len(x)} inputs on {comm.size} rank(s), {len(answer.categories)} with an output")
    print(f"largest difference from scipy: {np.abs(answer.scores - expected).max():.1e}")
