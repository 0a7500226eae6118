"""The kernel compiled by numba: a row's sums stay in registers over a tile of columns."""

from __future__ import annotations

import functools
from types import SimpleNamespace

import numba
import numpy as np
import numpy.typing as npt

from hpc.spdnn.compiled import loops
from hpc.spdnn.kernels import Elementwise, SampledOuter, Weights
from hpc.spdnn.panels import flat
from hpc.spdnn.team import Team
from hpc.spdnn.vectors import lanes_of

Floats = npt.NDArray[np.floating]
Output = tuple[npt.NDArray[np.int32], npt.NDArray[np.uint8], Floats, float, float, bool]


def product_loops(dtype: np.dtype[np.floating]) -> SimpleNamespace:
    """Return the compiled loops of `hpc.spdnn.numba_loops` for a dtype.

    Parameters
    ----------
    dtype : numpy.dtype
        float32 or float64.

    Returns
    -------
    SimpleNamespace
        `multiply`, `add_transposed` and `add_rows`.
    """
    return loops("hpc.spdnn.numba_loops", dtype)


@functools.cache
def widest_tile(dtype: npt.DTypeLike) -> int:
    """Return how many columns' sums take eight registers of this host, at most 64.

    Parameters
    ----------
    dtype : dtype-like
        Of the numbers.

    Returns
    -------
    int
        16, 32 or 64.
    """
    return min(64, 8 * lanes_of(numba.from_dtype(np.dtype(dtype))))


class NumbaKernel(Elementwise):
    """Products as `ScipyKernel` gives them, to rounding; see `hpc.spdnn.numba_loops`.

    Parameters
    ----------
    threads : int
        How many share each product.

    Raises
    ------
    InputError : fewer than one thread.

    Attributes
    ----------
    team : Team
        The threads.
    """

    name = "numba"

    def __init__(self, threads: int = 1) -> None:
        self.team = Team(threads)
        self._raw: dict[tuple[int, np.dtype[np.floating]], Output] = {}

    def multiply(self, weights: Weights, x: Floats, out: Floats) -> None:
        """Set out = W x.

        Parameters
        ----------
        weights, x, out : see `Kernel`
            Threads share the rows.
        """
        m, width, widest = weights.n_rows, x.shape[1], widest_tile(x.dtype)
        multiply, output = product_loops(x.dtype).multiply, self._in_order(m, x.dtype)
        source, target = x.reshape(-1), out.reshape(-1)

        def rows(first: int, stop: int) -> None:
            multiply(
                weights.csr, output, source, 0, target, 0, width, (0, 1), (first, stop), widest
            )

        self.team.run(rows, (0, m), len(weights.data) * width)

    def add_transposed(self, weights: Weights, delta: Floats, out: Floats) -> None:
        """Add Wᵀ delta[weights.rows] to out.

        Parameters
        ----------
        weights, delta, out : see `Kernel`
            Threads share the columns of W that have weights.
        """
        transposed, width, widest = weights.transposed, out.shape[1], widest_tile(out.dtype)
        add = product_loops(out.dtype).add_transposed
        source, target = delta.reshape(-1), out.reshape(-1)

        def columns(first: int, stop: int) -> None:
            add(transposed, weights.data, source, target, width, (first, stop), widest)

        self.team.run(columns, (0, len(transposed[1])), len(weights.data) * width)

    def add_gradient(self, gradient: SampledOuter, delta: Floats, x: Floats) -> None:
        """Add delta xᵀ on the pattern, over all panels.

        Parameters
        ----------
        gradient, delta, x : see `Kernel`
            Threads share the rows of the part.
        """
        pattern, values, panels, width = gradient.pattern, gradient.values, len(x), x.shape[2]
        add = loops("hpc.spdnn.gradient_loops", x.dtype).add_gradient
        left, right = flat(delta), flat(x)

        def rows(first: int, stop: int) -> None:
            add(pattern, values, *left, *right, width, (0, panels), (first, stop))

        self.team.run(rows, (0, len(pattern[2])), len(values) * panels * width)

    def prepare_training(self, dtype: npt.DTypeLike) -> None:
        """Compile the loops, or take them from the cache.

        Parameters
        ----------
        dtype : dtype-like
            float32 or float64.
        """
        for name in ("numba_loops", "gradient_loops", "element_loops"):
            loops(f"hpc.spdnn.{name}", np.dtype(dtype))

    def multiply_by_derivative(
        self, delta: Floats, x: Floats, activation: str, clip: float, scratch: Floats
    ) -> None:
        """Multiply delta by f'(z) in terms of x = f(z).

        Parameters
        ----------
        delta, x, activation, clip, scratch : see `Kernel`
            Only curves need scratch: the others are done in one pass.
        """
        if activation in ("relu", "clipped-relu"):
            slopes = loops("hpc.spdnn.element_loops", delta.dtype)
            most = clip if activation == "clipped-relu" else np.inf
            slopes.multiply_by_slope(delta.reshape(-1), x.reshape(-1), most)
        else:
            super().multiply_by_derivative(delta, x, activation, clip, scratch)

    def _in_order(self, m: int, dtype: np.dtype[np.floating]) -> Output:
        """Return the output of a product whose rows are stored one after another, as they are."""
        if (m, dtype) not in self._raw:
            places, last = np.arange(m, dtype=np.int32), np.zeros(m, np.uint8)
            self._raw[m, dtype] = places, last, np.zeros(0, dtype), 0.0, 0.0, False
        return self._raw[m, dtype]
