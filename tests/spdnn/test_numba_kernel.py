"""The compiled kernel against scipy's products, and against itself where bits must not change."""

import contextlib
import fcntl
import os
import subprocess
import sys

import numpy as np
import pytest

from hpc.io.halo import Part
from hpc.spdnn import compiled, numba_loops
from hpc.spdnn.kernels import SampledOuter, ScipyKernel, Weights, kernel
from hpc.spdnn.numba_kernel import widest_tile
from hpc.spdnn.panels import flat
from tests.spdnn.serial import random_layers

DTYPES = [np.float32, np.float64]


def weights_of(matrix, rows=None):
    """Return weights whose rows lie at `rows` of a larger output."""
    rows = np.arange(matrix.shape[0], dtype=np.int32) if rows is None else rows
    return Weights(Part(0, rows, matrix.indptr, matrix.indices, matrix.data))


def numbers(dtype, *shape):
    return np.random.default_rng(shape).normal(size=shape).astype(dtype)


def close(found, expected, dtype):
    tolerance = 2e-5 if dtype is np.float32 else 1e-12
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("density", [0.0, 0.02, 0.4])
def test_products_of_every_width(dtype, density):
    matrix = random_layers((50, 40), density, 1, dtype)[0].weight
    weights, ours = weights_of(matrix), kernel("numba")
    for width in range(1, 201):
        x, delta = numbers(dtype, 50, width), numbers(dtype, 40, width)
        out = np.full((40, width), np.nan, dtype)
        ours.multiply(weights, x, out)
        close(out, matrix @ x, dtype)
        back = np.ones((50, width), dtype)
        ours.add_transposed(weights, delta, back)
        close(back, 1 + matrix.T @ delta, dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("panels", [1, 3])
def test_gradients_of_every_width_over_panels(dtype, panels):
    matrix = random_layers((30, 20), 0.3, 2, dtype)[0].weight
    weights, ours = weights_of(matrix), kernel("numba")
    row, column = matrix.tocoo().coords
    for width in range(1, 201, 3):
        x, delta = numbers(dtype, panels, 30, width), numbers(dtype, panels, 20, width)
        values = np.ones(matrix.nnz, dtype)
        ours.add_gradient(SampledOuter(weights, values), delta, x)
        whole = np.einsum("prw,pcw->rc", delta.astype(float), x.astype(float))[row, column]
        np.testing.assert_allclose(values, 1 + whole, rtol=1e-3, atol=1e-4)
        if dtype is np.float64:
            np.testing.assert_allclose(values, 1 + whole, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", ["scipy", "numba"])
def test_a_part_picks_its_rows_of_delta(name):
    matrix = random_layers((12, 9), 0.4, 3)[0].weight
    chosen = np.array([1, 4, 5, 8], np.int32)
    weights, local = weights_of(matrix[chosen], chosen), kernel(name)
    x, whole = numbers(np.float64, 2, 12, 7), numbers(np.float64, 2, 15, 7)
    delta = whole[:, :9]
    back = np.zeros((12, 7))
    local.add_transposed(weights, delta[1], back)
    close(back, matrix[chosen].T @ delta[1, chosen], np.float64)
    values = np.zeros(matrix[chosen].nnz)
    local.add_gradient(SampledOuter(weights, values), delta, x)
    row, column = matrix[chosen].tocoo().coords
    close(values, sum(d[chosen] @ p.T for d, p in zip(delta, x, strict=True))[row, column], float)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_columns_bits_depend_on_nothing_beside_it(dtype):
    matrix = random_layers((60, 50), 0.3, 4, dtype)[0].weight
    weights, ours = weights_of(matrix), kernel("numba")
    x = numbers(dtype, 60, 131)
    whole = np.empty((50, 131), dtype)
    ours.multiply(weights, x, whole)
    for chosen in ([130], [5, 5, 7], range(3, 127), range(60, 100), np.arange(131)[::-1]):
        some = np.empty((50, len(chosen)), dtype)
        ours.multiply(weights, np.ascontiguousarray(x[:, chosen]), some)
        np.testing.assert_array_equal(some, whole[:, chosen])


def test_what_is_not_a_number_is_kept():
    matrix = random_layers((8, 8), 1.0, 5)[0].weight
    x = numbers(np.float64, 8, 3)
    x[2, 1] = np.nan
    out, expected = np.empty((8, 3)), np.empty((8, 3))
    kernel("numba").multiply(weights_of(matrix), x, out)
    ScipyKernel().multiply(weights_of(matrix), x, expected)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))


def test_flat_panels_share_the_memory():
    whole = np.zeros((3, 5, 4))
    for array in (whole, whole[:, :2], whole[1:, 1:3], whole[:1, :2]):
        numbers, pitch = flat(array)
        numbers[...] = 0
        numbers[(len(array) - 1) * pitch + 1] = 7
        assert array[-1, 0, 1] == 7
        assert len(numbers) == (len(array) - 1) * pitch + array.shape[1] * 4


def loading(folder, module="numba_loops", loop="multiply"):
    """Start a process that takes a loop and prints how often it compiled it and found it."""
    code = (
        "import numpy as np; from hpc.spdnn.compiled import loops;"
        f"made = loops('hpc.spdnn.{module}', np.dtype(np.float32)).{loop};"
        "print(sum(made.stats.cache_misses.values()), sum(made.stats.cache_hits.values()))"
    )
    env = os.environ | {"NUMBA_CACHE_DIR": str(folder)}
    return subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, text=True
    )


def said(run):
    """Return what a process printed; one that waits is ended."""
    try:
        return run.communicate(timeout=60)[0].split()
    finally:
        run.kill()
        run.wait()


def test_ranks_that_start_together_share_one_compilation(tmp_path):
    """One compiles, the others wait and load; afterwards nobody compiles."""
    found = [said(run) for run in [loading(tmp_path) for _ in range(3)]]
    assert sorted(found) == [["0", "1"], ["0", "1"], ["1", "0"]]
    assert said(loading(tmp_path)) == ["0", "1"]
    assert not list(tmp_path.glob("compiling-*"))


def test_whoever_compiles_delays_only_those_who_need_the_same(tmp_path):
    """All locks of what is compiled are held, and that of all that once was: both loads go on."""
    assert said(loading(tmp_path, "word_loops", "fill_words")) == ["1", "0"]
    with contextlib.ExitStack() as held:
        for lock in {*tmp_path.glob("*lock"), tmp_path / "lock"}:
            fcntl.flock(held.enter_context(open(lock, "a")), fcntl.LOCK_EX)
        assert said(loading(tmp_path, "word_loops", "fill_words")) == ["0", "1"]
        assert said(loading(tmp_path, "element_loops", "multiply_by_slope")) == ["1", "0"]


def test_code_for_another_host_is_not_taken(monkeypatch):
    here = compiled._key(numba_loops)
    monkeypatch.setattr(compiled.binding, "get_host_cpu_name", lambda: "another")
    assert compiled._key(numba_loops) != here


@pytest.mark.parametrize(
    ("features", "single", "double"),
    [({"avx512f": True, "avx2": True}, 64, 64), ({"avx2": True}, 64, 32), ({}, 32, 16)],
)
def test_the_tile_fits_the_hosts_registers(monkeypatch, features, single, double):
    monkeypatch.setattr(compiled.binding, "get_host_cpu_features", lambda: features)
    assert widest_tile.__wrapped__(np.float32) == single
    assert widest_tile.__wrapped__(np.float64) == double
