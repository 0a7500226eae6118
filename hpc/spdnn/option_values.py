"""What options of the sparse engine may say. Imports no MPI, so that a shell can complete it."""

from __future__ import annotations

LOSSES = ("mse", "cross-entropy")
OPTIMIZERS = ("sgd", "momentum", "adam")
GRADIENTS = ("exact", "averaged")
EXPORTS = ("torch", "npz", "scipy", "tsv")


def kernels() -> tuple[str, ...]:
    """Return what --kernel takes.

    Returns
    -------
    'auto', then the kernels.
    """
    from hpc.spdnn.kernels import KERNELS

    return ("auto", *KERNELS)
