"""Other people's ways through a Challenge network: whole batches, one function each.

Each takes the layers (scipy CSR, rows = outputs), one bias and (n_0, images) 0/1 inputs,
and returns the 1-based numbers of the images whose last layer has a non-zero entry.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

Layers = list[sparse.csr_array]
Run = Callable[[], npt.NDArray[np.int64]]
CLIP = 32.0


def scipy_loop(layers: Layers, bias: float, x: npt.NDArray[np.float32]) -> Run:
    def run() -> npt.NDArray[np.int64]:
        y = x
        for weight in layers:
            y = weight @ y
            y += bias
            np.clip(y, 0, CLIP, out=y)
        return np.flatnonzero(y.any(axis=0)) + 1

    return run


def torch_loop(layers: Layers, bias: float, x: npt.NDArray[np.float32], threads: int) -> Run:
    import torch

    torch.set_num_threads(threads)
    weights = [
        torch.sparse_csr_tensor(
            torch.from_numpy(w.indptr),
            torch.from_numpy(w.indices),
            torch.from_numpy(w.data),
            w.shape,
        )
        for w in layers
    ]
    first = torch.from_numpy(x)

    def run() -> npt.NDArray[np.int64]:
        y = first
        for weight in weights:
            y = (weight @ y).add_(bias).clamp_(0, CLIP)
        return np.flatnonzero(y.any(dim=0).numpy()) + 1

    return run


def graphblas_loop(layers: Layers, bias: float, x: npt.NDArray[np.float32], threads: int) -> Run:
    """SuiteSparse:GraphBLAS; images are rows, so dead ones cost it nothing."""
    import graphblas

    graphblas.init("suitesparse", blocking=False)
    graphblas.ss.config["nthreads"] = threads
    weights = [graphblas.io.from_scipy_sparse(sparse.csr_array(w.T)) for w in layers]
    first = graphblas.io.from_scipy_sparse(sparse.csr_array(x.T))

    def run() -> npt.NDArray[np.int64]:
        y: Any = first
        for weight in weights:
            y = y.mxm(weight, graphblas.semiring.plus_times).new()
            y << y.apply(graphblas.binary.plus, right=bias)
            y << y.select(">", 0)
            y << y.apply(graphblas.binary.min, right=CLIP)
        alive = y.reduce_rowwise(graphblas.monoid.any).new()
        return np.sort(alive.to_coo(values=False)[0]).astype(np.int64) + 1

    return run
