"""Slopes and losses on the compiled loops give numpy's, and torch's, numbers."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from hpc.spdnn.activations import multiply_by_derivative
from hpc.spdnn.kernels import kernel
from hpc.spdnn.losses import loss

ACTIVATIONS = ("identity", "relu", "clipped-relu", "sigmoid", "tanh")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_slopes(dtype, activation):
    rng = np.random.default_rng(0)
    x = np.clip(rng.normal(1, 2, (20, 33)), 0, 2.5).astype(dtype)  # kinks at 0 and 2.5 included
    delta = rng.normal(size=(20, 33)).astype(dtype)
    expected, scratch = delta.copy(), np.empty(x.size, dtype)
    multiply_by_derivative(expected, x, activation, 2.5, scratch)
    kernel("numba").multiply_by_derivative(delta, x, activation, 2.5, scratch)
    np.testing.assert_array_equal(delta, expected)


@pytest.mark.mpi
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("panels", "width"), [(1, 1), (1, 7), (3, 16)])
def test_squared_error_over_ranks(comm, dtype, panels, width):
    """Ties for the largest number included; a rank may hold no row."""
    n, batch = 11, panels * width
    rng = np.random.default_rng(batch)
    whole = rng.integers(-2, 3, (n, batch)).astype(dtype) / 2
    labels = rng.integers(0, n, batch).astype(np.int32)
    ids = np.flatnonzero(rng.integers(0, comm.size + 1, n) % comm.size == comm.rank)
    ids = ids.astype(np.int32)
    rows = np.ascontiguousarray(whole[ids].reshape(len(ids), panels, width).transpose(1, 0, 2))
    found = []
    for compiled in (True, False):
        slope = np.full_like(rows, np.nan)
        measured = loss("mse", comm, ids, n, compiled)
        found.append((*measured.evaluate(rows, labels, slope), slope))
        assert measured.evaluate(rows, labels, None) == found[-1][:2]
    (value, right, slope), (numpy_value, numpy_right, numpy_slope) = found
    assert right == numpy_right == int((whole.argmax(axis=0) == labels).sum())
    output = torch.tensor(whole.T.astype(np.float64), requires_grad=True)
    wanted = torch.nn.functional.mse_loss(output, torch.eye(n, dtype=torch.float64)[labels])
    wanted.backward()
    assert value == pytest.approx(wanted.item() * batch, rel=1e-6)
    assert value == pytest.approx(numpy_value, rel=1e-6)
    gradient = output.grad.numpy().T[ids].reshape(len(ids), panels, width).transpose(1, 0, 2)
    np.testing.assert_allclose(slope, gradient, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(slope, numpy_slope, rtol=1e-6, atol=1e-9)
