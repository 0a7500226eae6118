"""A word before the first batch on a host, which waits for kernels to be compiled."""

from __future__ import annotations

import sys

import numpy as np

from hpc.spdnn.kernels import Kernel

INFERENCE = ("numba_loops",)
TRAINING = ("numba_loops", "gradient_loops", "element_loops")
"""Modules of `hpc.spdnn` whose loops a run needs in any case."""


def tell_compiling(kernel: Kernel, dtype: np.dtype[np.floating], needs: tuple[str, ...]) -> None:
    """Say on standard error that kernels are compiled, if some of those needed are not yet.

    Parameters
    ----------
    kernel : Kernel
        Any but numba's compiles nothing.
    dtype : numpy.dtype
        float32 or float64.
    needs : tuple of str
        INFERENCE or TRAINING.
    """
    if kernel.name != "numba":
        return
    from hpc.spdnn.compiled import is_compiled

    if not all(is_compiled(f"hpc.spdnn.{name}", dtype) for name in needs):
        print("compiling kernels for this host, once", file=sys.stderr, flush=True)
