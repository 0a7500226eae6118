"""The kernel on torch's sparse CSR: cuSPARSE on a GPU, MKL on the CPU.

Weights stay on the device and are copied anew where `Weights.version` says that they have
changed. Activations and partial sums travel panel by panel, only the rows that a part has
to do with, so the plan and the exchange are those of the other kernels.
"""

from __future__ import annotations

import warnings
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt
import torch

from hpc.spdnn.kernels import Elementwise, SampledOuter, Weights, add_rows
from hpc.spdnn.torch_staging import Staging

Floats = npt.NDArray[np.floating]
Ints = npt.NDArray[np.int32]


class TorchKernel(Elementwise):
    """Products as `ScipyKernel` gives them, to rounding.

    Parameters
    ----------
    device : torch.device or str
        'cpu', or a CUDA device, see `hpc.comm.devices.place`.
    """

    name = "torch"

    def __init__(self, device: torch.device | str = "cpu") -> None:
        self.device = torch.device(device)
        self._staging = Staging(self.device)
        self._parts: WeakKeyDictionary[Weights, DevicePart] = WeakKeyDictionary()
        self._outers: WeakKeyDictionary[SampledOuter, DeviceOuter] = WeakKeyDictionary()
        self._scratch = np.empty(0)

    def multiply(self, weights: Weights, x: Floats, out: Floats) -> None:
        """Set out = W x.

        Parameters
        ----------
        weights, x, out : see `Kernel`
            In host memory; only the rows of x from the first needed to the last go to the device.
        """
        if not len(weights.data):
            out[...] = 0
            return
        part = self._part(weights)
        source = self._staging.up("x", x[part.columns])
        product = self._staging.room("product", out.shape, source.dtype)
        torch.mm(part.matrix, source, out=product)
        out[...] = self._staging.down("product", product)

    def add_transposed(self, weights: Weights, delta: Floats, out: Floats) -> None:
        """Add Wᵀ delta[weights.rows] to out.

        Parameters
        ----------
        weights, delta, out : see `Kernel`
            In host memory; the sum with out is made there.
        """
        if not len(weights.data):
            return
        part = self._part(weights)
        source = self._rows_up(delta, weights.rows)
        rows, matrix = part.transposed
        product = self._staging.room("product", (len(rows), out.shape[1]), source.dtype)
        torch.mm(matrix, source, out=product)
        if self._scratch.size < product.numel() or self._scratch.dtype != out.dtype:
            self._scratch = np.empty(product.numel(), out.dtype)
        add_rows(out, rows, self._staging.down("product", product), self._scratch)

    def add_gradient(self, gradient: SampledOuter, delta: Floats, x: Floats) -> None:
        """Add delta xᵀ on the pattern, summed over the panels on the device.

        Parameters
        ----------
        gradient, delta, x : see `Kernel`
            In host memory; a panel at a time goes to the device.
        """
        if not len(gradient.values):
            return
        if gradient not in self._outers:
            self._outers[gradient] = DeviceOuter(gradient, self.device)
        outer = self._outers[gradient]
        sums = outer.matrix.values().zero_()
        for panel in range(len(x)):
            left = self._rows_up(delta[panel], gradient.pattern[2])
            right = self._staging.up("x", x[panel, outer.columns])
            torch.sparse.sampled_addmm(outer.matrix, left, right.t(), out=outer.matrix)
        gradient.values += self._staging.down("gradient", sums)

    def _rows_up(self, delta: Floats, rows: Ints) -> torch.Tensor:
        if len(delta) == len(rows):
            return self._staging.up("delta", delta)
        return self._staging.rows_up("delta", delta, rows)

    def _part(self, weights: Weights) -> DevicePart:
        """Return the device's copy of the weights as they are now."""
        if weights not in self._parts:
            self._parts[weights] = DevicePart(weights, self.device)
        part = self._parts[weights]
        part.renew(weights)
        return part


class DevicePart:
    """A part's weights on the device.

    Parameters
    ----------
    weights : Weights
        Of one part, with at least one weight; copied.
    device : torch.device
        Where to.

    Attributes
    ----------
    columns : slice
        The rows of x_ext from the first to the last that the part needs.
    matrix : torch.Tensor
        CSR, (m, rows of `columns`).
    """

    def __init__(self, weights: Weights, device: torch.device) -> None:
        self._device, self._version = device, weights.version
        self._pattern = weights.indptr, weights.indices
        self.columns = span(weights.indices)
        values = torch.from_numpy(weights.data).to(device, copy=True)
        self.matrix = _csr_in(weights.indptr, weights.indices, values, self.columns)
        self._edges: torch.Tensor | None = None

    @cached_property
    def transposed(self) -> tuple[Ints, torch.Tensor]:
        """The local columns that have weights, ascending, and their rows of Wᵀ as CSR."""
        indptr, indices = self._pattern
        order = np.argsort(indices, kind="stable")
        columns, counts = np.unique(indices, return_counts=True)
        starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int32)
        row_of = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
        self._edges = torch.from_numpy(order).to(self._device)
        values = self.matrix.values()[self._edges]
        return columns, _csr(starts, row_of[order], values, len(indptr) - 1)

    def renew(self, weights: Weights) -> None:
        """Copy the weights again if they have changed since.

        Parameters
        ----------
        weights : Weights
            The same as at the start; its `version` tells.
        """
        if self._version == weights.version:
            return
        self._version = weights.version
        values = self.matrix.values()
        values.copy_(torch.from_numpy(weights.data))
        if self._edges is not None:
            torch.index_select(values, 0, self._edges, out=self.transposed[1].values())


class DeviceOuter:
    """The pattern of a part's gradient on the device, with room for the sums.

    Parameters
    ----------
    gradient : SampledOuter
        Of one part, with at least one weight.
    device : torch.device
        Where to.

    Attributes
    ----------
    columns : slice
        The rows of x_ext from the first to the last that the part needs.
    matrix : torch.Tensor
        CSR, (m, rows of `columns`), whose values are the sums.
    """

    def __init__(self, gradient: SampledOuter, device: torch.device) -> None:
        indptr, indices, _ = gradient.pattern
        self.columns = span(indices)
        zeros = torch.from_numpy(np.zeros_like(gradient.values)).to(device)
        self.matrix = _csr_in(indptr, indices, zeros, self.columns)


def span(indices: Ints) -> slice:
    """Return the range from the smallest index to the largest. Pure.

    Parameters
    ----------
    indices : (n,) int32 array
        At least one.

    Returns
    -------
    slice
        Both ends included.
    """
    return slice(int(indices.min()), int(indices.max()) + 1)


def _csr_in(indptr: Ints, indices: Ints, values: torch.Tensor, columns: slice) -> torch.Tensor:
    """Return the CSR tensor of the columns in a range, which hold all the values."""
    return _csr(indptr, indices - columns.start, values, columns.stop - columns.start)


def _csr(indptr: Ints, indices: Ints, values: torch.Tensor, n_columns: int) -> torch.Tensor:
    """Return a CSR tensor on the device of `values`, whose memory it keeps."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta")
        return torch.sparse_csr_tensor(
            torch.from_numpy(indptr).to(values.device),
            torch.from_numpy(indices).to(values.device),
            values,
            size=(len(indptr) - 1, n_columns),
            check_invariants=False,
        )
