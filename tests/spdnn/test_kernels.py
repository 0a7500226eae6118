"""scipy's kernel is `csr @ dense`, to the bit; its transpose and its gradient are scipy's too."""

import numpy as np
import pytest
import torch
from scipy import sparse

from hpc.io.errors import InputError
from hpc.io.halo import Part
from hpc.spdnn.activations import activate, multiply_by_derivative
from hpc.spdnn.kernels import SampledOuter, ScipyKernel, Weights, kernel
from tests.spdnn.serial import random_layers


def weights_of(matrix):
    rows = np.arange(matrix.shape[0], dtype=np.int32)
    return Weights(Part(0, rows, matrix.indptr, matrix.indices, matrix.data))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("width", [1, 5, 128])
def test_the_three_products(dtype, width):
    matrix = random_layers((40, 30), 0.2, width, dtype)[0].weight
    weights, ours = weights_of(matrix), ScipyKernel()
    rng = np.random.default_rng(2)
    x, delta = (
        rng.normal(size=(40, width)).astype(dtype),
        rng.normal(size=(30, width)).astype(dtype),
    )
    out = np.full((30, width), 7, dtype)
    ours.multiply(weights, x, out)
    np.testing.assert_array_equal(out, matrix @ x)
    back = np.ones((40, width), dtype)
    ours.add_transposed(weights, delta, back)
    np.testing.assert_allclose(back, 1 + matrix.T @ delta, rtol=1e-5, atol=1e-5)
    values = np.ones(matrix.nnz, dtype)
    ours.add_gradient(SampledOuter(weights, values), delta[None], x[None])
    row, column = matrix.tocoo().coords
    np.testing.assert_allclose(values, 1 + (delta @ x.T)[row, column], rtol=1e-4, atol=1e-5)


def test_a_gradient_larger_than_its_workspace(monkeypatch):
    monkeypatch.setattr("hpc.spdnn.kernels.GRADIENT_ITEMS", 16)
    test_the_three_products(np.float64, 5)


def test_an_unknown_kernel_lists_the_known():
    with pytest.raises(InputError, match="kernel 'none': expected one of auto, numba, scipy"):
        kernel("none")


@pytest.mark.parametrize("name", ["identity", "relu", "clipped-relu", "sigmoid", "tanh"])
def test_activations_and_slopes_are_torchs(name):
    z = np.random.default_rng(3).normal(size=(6, 50)) * 4
    bias = np.linspace(-1, 1, 6)
    theirs = torch.tensor(z + bias[:, None], requires_grad=True)
    function = {
        "identity": lambda v: v * 1,
        "relu": torch.relu,
        "clipped-relu": lambda v: torch.nn.functional.hardtanh(v, 0.0, 2.5),
        "sigmoid": torch.sigmoid,
        "tanh": torch.tanh,
    }[name]
    expected = function(theirs)
    expected.sum().backward()
    x = z.copy()
    activate(x, bias, name, 2.5)
    np.testing.assert_allclose(x, expected.detach().numpy(), rtol=1e-12, atol=1e-14)
    slope = np.ones_like(x)
    multiply_by_derivative(slope, x, name, 2.5, np.empty(x.size))
    np.testing.assert_allclose(slope, theirs.grad.numpy(), rtol=1e-9, atol=1e-12)


def test_columns_that_share_rows_lie_side_by_side():
    dense = np.array([[1, 0, 2, 0, 0], [3, 4, 5, 6, 0], [0, 7, 0, 8, 0]], np.float32)
    weight = sparse.csr_array(dense)
    part = Part(
        0, np.array([4, 5, 9], np.int32), weight.indptr.astype(np.int64),
        weight.indices.astype(np.int32), weight.data,
    )  # fmt: skip
    starts, columns, sources, edges = Weights(part).transposed
    assert columns.tolist() == [0, 2, 1, 3] and starts.tolist() == [0, 2, 4, 6, 8]
    assert sources.tolist() == [4, 5, 4, 5, 5, 9, 5, 9]
    assert weight.data[edges].tolist() == [1, 3, 2, 5, 4, 7, 6, 8]
