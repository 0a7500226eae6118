"""The local multiplies behind one small interface, and scipy's, the reference.

A kernel works on panels, C-ordered (rows, width) matrices, so the caller can
poll MPI between panels. Every call overwrites or adds to an array that the
caller owns; nothing is allocated.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from importlib.util import find_spec
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.sparse import _sparsetools

from hpc.io.errors import InputError
from hpc.io.halo import Part
from hpc.spdnn.activations import multiply_by_derivative
from hpc.spdnn.row_order import side_by_side

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]
GRADIENT_ITEMS = 1 << 18
"""Numbers in each of the two gathered blocks of a sampled outer product (cache resident)."""


class Weights:
    """A part's weights as a kernel uses them: CSR with 32-bit pointers, data shared.

    Parameters
    ----------
    part : Part
        Whose columns are in the numbering of x_ext.
    data : (nnz,) float array or None
        Weights to use instead of the part's own.

    Raises
    ------
    InputError : 2³¹ weights or more: pointers have 32 bits.

    Attributes
    ----------
    data : (nnz,) float array
        May be updated in place between calls; say so by `changed`.
    version : int
        Counts the changes, for kernels that keep a copy elsewhere.
    rows : (m,) int32 array
        Local rows, ascending.
    n_rows : int
        m.
    last : (m,) uint8 array or None
        Whether no later part of the layer has the row; None: not yet known.
    """

    def __init__(self, part: Part, data: Floats | None = None) -> None:
        if len(part.indices) >= 2**31:
            raise InputError(
                f"{len(part.indices)} weights of one layer on one rank: at most 2^31 - 1; "
                "use more ranks"
            )
        self.rows = part.rows
        self.n_rows = len(part.rows)
        self.indptr: Ints = part.indptr.astype(np.int32, copy=False)
        self.indices: Ints = part.indices.astype(np.int32, copy=False)
        self.data = part.data if data is None else data
        self.version = 0
        self.last: npt.NDArray[np.uint8] | None = None

    def changed(self) -> None:
        """Note that `data` was updated in place."""
        self.version += 1

    @cached_property
    def csr(self) -> tuple[Ints, Ints, Floats]:
        """(indptr, indices, data)."""
        return self.indptr, self.indices, self.data

    @cached_property
    def transposed(self) -> tuple[Ints, Ints, Ints, Ints]:
        """The weights by column: (starts, columns, sources, edges).

        Those of columns[i] are data[edges[e]] in local row sources[e], for e in
        starts[i]..starts[i+1]-1. Columns without weights are left out, those that share rows
        lie side by side.
        """
        numbers = np.arange(len(self.indices), dtype=np.int32)
        n_columns = int(self.indices.max(initial=-1)) + 1
        shape = (self.n_rows, n_columns)
        by_row = sparse.csr_array((numbers, self.indices, self.indptr), shape=shape)
        by_column = by_row.tocsc()
        every = np.arange(n_columns, dtype=np.int32)
        columns = side_by_side([(by_column.indptr, by_column.indices, every)], n_columns)
        columns = columns[np.diff(by_column.indptr)[columns] > 0]
        lengths = np.diff(by_column.indptr)[columns]
        starts = np.concatenate(([0], np.cumsum(lengths))).astype(np.int32)
        chosen = np.repeat(by_column.indptr[columns] - starts[:-1], lengths) + numbers
        sources = self.rows[by_column.indices[chosen]].astype(np.int32, copy=False)
        return starts, columns, sources, by_column.data[chosen]


class Kernel(Protocol):
    """What a kernel offers. `x` is x_ext, or one panel of it, (n_ext, width)."""

    name: str

    def multiply(self, weights: Weights, x: Floats, out: Floats) -> None:
        """Set out = W x.

        Parameters
        ----------
        weights : Weights
            W, of m rows.
        x : (n_ext, width) float array
            A panel.
        out : (m, width) float array
            Overwritten.
        """

    def add_transposed(self, weights: Weights, delta: Floats, out: Floats) -> None:
        """Add Wᵀ delta[weights.rows] to out.

        Parameters
        ----------
        weights : Weights
            W.
        delta : (n_out, width) float array
            Own rows of δ, a panel.
        out : (n_ext, width) float array
            Added to.
        """

    def add_gradient(self, gradient: SampledOuter, delta: Floats, x: Floats) -> None:
        """Add delta xᵀ on the pattern, summed over all panels, to the gradient.

        Parameters
        ----------
        gradient : SampledOuter
            Its `values` are added to.
        delta : (panels, n_out, width) float array
            Own rows of δ.
        x : (panels, n_ext, width) float array
            x_ext.
        """

    def prepare_training(self, dtype: npt.DTypeLike) -> None:
        """Make ready what a training step needs, so that the first takes no longer.

        Parameters
        ----------
        dtype : dtype-like
            float32 or float64.
        """

    def multiply_by_derivative(
        self, delta: Floats, x: Floats, activation: str, clip: float, scratch: Floats
    ) -> None:
        """Multiply delta by f'(z) in terms of x = f(z), one panel; see `activations`.

        Parameters
        ----------
        delta : (rows, width) float array
            Overwritten.
        x : (rows, width) float array
            Output of the activation.
        activation : str
            Its name.
        clip : float
            Its upper limit, where it has one.
        scratch : flat float array
            At least rows · width numbers.
        """


class Elementwise:
    """What a kernel does number by number, unless it has something faster."""

    def prepare_training(self, dtype: npt.DTypeLike) -> None:
        """Do nothing: there is nothing to compile.

        Parameters
        ----------
        dtype : dtype-like
            Plays no part.
        """

    def multiply_by_derivative(
        self, delta: Floats, x: Floats, activation: str, clip: float, scratch: Floats
    ) -> None:
        """Multiply delta by f'(z) in terms of x = f(z), both (rows, width).

        Parameters
        ----------
        delta, x, activation, clip, scratch : see `Kernel`
            All rows, C-ordered.
        """
        multiply_by_derivative(delta, x, activation, clip, scratch)


class SampledOuter:
    """The weight gradient of one part and what its computation needs.

    Parameters
    ----------
    weights : Weights
        Of the part, for its pattern.
    values : (nnz,) float array
        Where the gradient is summed up over the panels.
    """

    def __init__(self, weights: Weights, values: Floats) -> None:
        self.values = values
        self.columns = weights.indices
        self.pattern = weights.indptr, weights.indices, weights.rows

    @cached_property
    def row_of(self) -> Ints:
        """The local row of each weight: (nnz,) int32."""
        indptr, _, rows = self.pattern
        return np.repeat(rows, np.diff(indptr))


class ScipyKernel(Elementwise):
    """scipy's own CSR loops (what `csr @ dense` calls), without its temporary arrays."""

    name = "scipy"

    def __init__(self) -> None:
        self._workspace = np.empty(0)

    def multiply(self, weights: Weights, x: Floats, out: Floats) -> None:
        """Set out = W x.

        Parameters
        ----------
        weights, x, out : see `Kernel`
            Summed in the order of a row's weights.
        """
        out[...] = 0
        _sparsetools.csr_matvecs(
            weights.n_rows,
            x.shape[0],
            x.shape[1],
            weights.indptr,
            weights.indices,
            weights.data,
            x.reshape(-1),
            out.reshape(-1),
        )

    def add_transposed(self, weights: Weights, delta: Floats, out: Floats) -> None:
        """Add Wᵀ delta[weights.rows] to out: W's CSR read as the CSC of Wᵀ.

        Parameters
        ----------
        weights, delta, out : see `Kernel`
            Of delta only `weights.rows` are gathered, unless it has no others.
        """
        if len(delta) != weights.n_rows:
            delta = self._rows_of(delta, weights.rows)
        _sparsetools.csc_matvecs(
            out.shape[0],
            weights.n_rows,
            out.shape[1],
            weights.indptr,
            weights.indices,
            weights.data,
            delta.reshape(-1),
            out.reshape(-1),
        )

    def add_gradient(self, gradient: SampledOuter, delta: Floats, x: Floats) -> None:
        """Add delta xᵀ on the pattern, panel by panel, block of weights by block.

        Parameters
        ----------
        gradient, delta, x : see `Kernel`
            For a block of weights GRADIENT_ITEMS numbers of each are gathered, at most.
        """
        width = x.shape[2]
        items = max(GRADIENT_ITEMS // width, 1)
        workspace = self._scratch((2 * width + 1) * items, x.dtype)
        for panel in range(len(x)):
            for start in range(0, len(gradient.values), items):
                span = slice(start, min(start + items, len(gradient.values)))
                left, right, sums = _blocks(workspace, span.stop - start, width)
                np.take(delta[panel], gradient.row_of[span], axis=0, out=left, mode="clip")
                np.take(x[panel], gradient.columns[span], axis=0, out=right, mode="clip")
                np.einsum("ij,ij->i", left, right, out=sums)
                gradient.values[span] += sums

    def _rows_of(self, delta: Floats, rows: Ints) -> Floats:
        shape = (len(rows), delta.shape[1])
        gathered = self._scratch(shape[0] * shape[1], delta.dtype)[: shape[0] * shape[1]]
        return np.take(delta, rows, axis=0, out=gathered.reshape(shape), mode="clip")

    def _scratch(self, size: int, dtype: npt.DTypeLike) -> Floats:
        """Return scratch of at least `size` numbers; it grows once."""
        if self._workspace.size < size or self._workspace.dtype != dtype:
            self._workspace = np.empty(size, dtype)
        return self._workspace


def _blocks(workspace: Floats, items: int, width: int) -> tuple[Floats, Floats, Floats]:
    size = items * width
    left = workspace[:size].reshape(items, width)
    right = workspace[size : 2 * size].reshape(items, width)
    return left, right, workspace[2 * size : 2 * size + items]


def _missing(name: str, extra: str, error: ImportError) -> InputError:
    return InputError(
        f"kernel '{name}': {error}; pip install 'relaycut[{extra}]' or take --kernel scipy"
    )


def _numba(threads: int) -> Kernel:
    try:
        from hpc.spdnn.numba_kernel import NumbaKernel
    except ImportError as error:
        raise _missing("numba", "fast", error) from error
    return NumbaKernel(threads)


def _torch(threads: int) -> Kernel:
    try:
        from hpc.spdnn.torch_kernel import TorchKernel
    except ImportError as error:
        raise _missing("torch", "pipebd", error) from error
    return TorchKernel()


def _scipy(threads: int) -> Kernel:
    return ScipyKernel()


KERNELS: dict[str, Callable[[int], Kernel]] = {
    "numba": _numba,
    "scipy": _scipy,
    "torch": _torch,
}


def kernel(name: str = "auto", threads: int = 1) -> Kernel:
    """Return the kernel called `name`; 'auto' is numba where that is installed, else scipy.

    Parameters
    ----------
    name : str
        'auto', 'numba', 'scipy' or 'torch'; the last on the CPU.
    threads : int
        That share a product; more than one only with numba.

    Returns
    -------
    Kernel
        A new one.

    Raises
    ------
    InputError : unknown name, listing the valid ones; what it needs is not installed; threads
        that it has not.
    """
    if name == "auto":
        name = "numba" if find_spec("numba") else "scipy"
    if name not in KERNELS:
        raise InputError(f"kernel '{name}': expected one of auto, {', '.join(KERNELS)}")
    if threads < 1 or (threads > 1 and name != "numba"):
        most = "at least 1" if threads < 1 else f"1 with kernel {name}; numba can share a product"
        raise InputError(f"--threads {threads}: expected {most}")
    return KERNELS[name](threads)


def add_rows(target: Floats, rows: Ints, values: Floats, scratch: Floats) -> None:
    """Add `values` to the given rows of `target`, each row at most once.

    Parameters
    ----------
    target : (n, width) float array
        Changed in place.
    rows : (m,) int32 array
        Distinct.
    values : (m, width) float array
        Row after row.
    scratch : flat float array
        At least m · width numbers.
    """
    gathered = scratch[: values.size].reshape(values.shape)
    np.take(target, rows, axis=0, out=gathered, mode="clip")
    gathered += values
    target[rows] = gathered
