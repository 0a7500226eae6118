"""Train a sparse network on the shipped digits: `mpirun -n 2 python examples/spdnn_train.py`.

The network goes in from memory and comes out as a file, which is then read back and run.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from mpi4py import MPI
from scipy import sparse

import hpc.spdnn
from hpc.samples import sample_path

SIZES, DEGREE = (784, 128, 10), 32


def make_network() -> list[tuple[sparse.csr_array, None, str]]:
    """Return layers of DEGREE random weights a row, the same on every rank."""
    rng = np.random.default_rng(0)
    layers = []
    for n_in, n_out, f in zip(SIZES[:-1], SIZES[1:], ("relu", "identity"), strict=True):
        columns = np.concatenate([rng.permutation(n_in)[:DEGREE] for _ in range(n_out)])
        values = rng.normal(0, DEGREE**-0.5, n_out * DEGREE).astype(np.float32)
        starts = np.arange(n_out + 1) * DEGREE
        layers.append((sparse.csr_array((values, columns, starts), shape=(n_out, n_in)), None, f))
    return layers


comm = MPI.COMM_WORLD
digits = sample_path("digits")
options = hpc.spdnn.TrainOptions(epochs=4, batch=50, lr=0.01, optimizer="adam", validation=0.2)


def tell(epoch: hpc.spdnn.Epoch) -> None:
    """Print an epoch on the first rank."""
    if comm.rank == 0:
        print(
            f"epoch {epoch.epoch}  loss {epoch.loss:.4f}  held out {epoch.validation_accuracy:.3f}"
        )


with tempfile.TemporaryDirectory() as folder:
    out = comm.bcast(Path(folder) / "trained.h5")
    hpc.spdnn.train(comm, make_network(), digits, options, out=out, on_epoch=tell)
    again = hpc.spdnn.infer(comm, out, digits, scores=True)
    if again.scores is not None:
        print(f"{again.scores.shape[0]} digits through the trained network")
    comm.Barrier()  # rank 0's folder stays until all have read
