"""The kernel compiled by numba: a row's sums stay in registers over a tile of columns."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpc.spdnn.compiled import loops
from hpc.spdnn.kernels import SampledOuter, Weights
from hpc.spdnn.panels import flat

Floats = npt.NDArray[np.floating]
Output = tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], Floats, float, float, bool]


class NumbaKernel:
    """Products as `ScipyKernel` gives them, to rounding; see `hpc.spdnn.numba_loops`."""

    name = "numba"

    def __init__(self) -> None:
        self._raw: dict[tuple[int, np.dtype[np.floating]], Output] = {}

    def multiply(self, weights: Weights, x: Floats, out: Floats) -> None:
        """Set out = W x, (m, width)."""
        compiled, m = loops(x.dtype), weights.n_rows
        compiled.multiply(
            weights.csr, self._in_order(m, x.dtype), x.reshape(-1), 0, out.reshape(-1), 0,
            x.shape[1], (0, 1), (0, m), compiled.widest,
        )  # fmt: skip

    def add_transposed(self, weights: Weights, delta: Floats, out: Floats) -> None:
        """Add Wᵀ delta[weights.rows] to out, (n_ext, width)."""
        compiled, transposed = loops(out.dtype), weights.transposed
        compiled.add_transposed(
            transposed, weights.data, delta.reshape(-1), out.reshape(-1), out.shape[1],
            (0, len(transposed[1])), compiled.widest,
        )  # fmt: skip

    def add_gradient(self, gradient: SampledOuter, delta: Floats, x: Floats) -> None:
        """Add delta xᵀ on the pattern, (nnz,), over all panels."""
        pattern = gradient.pattern
        loops(x.dtype).add_gradient(
            pattern, gradient.values, *flat(delta), *flat(x), x.shape[2],
            (0, len(x)), (0, len(pattern[2])),
        )  # fmt: skip

    def _in_order(self, m: int, dtype: np.dtype[np.floating]) -> Output:
        """Return the output of a product whose rows are stored one after another, as they are."""
        if (m, dtype) not in self._raw:
            places, last = np.arange(m, dtype=np.int32), np.zeros(m, np.uint8)
            self._raw[m, dtype] = places, last, np.zeros(0, dtype), 0.0, 0.0, False
        return self._raw[m, dtype]
