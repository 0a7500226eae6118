"""Samples files: bits, bytes and floats come back as numbers, by rows and by batches."""

import numpy as np
import pytest

from hpc.io.errors import FormatError, InputError
from hpc.io.samples import create_samples, open_samples

WIDTH, N = 1030, 21


def values_of(kind):
    rng = np.random.default_rng(4)
    if kind == "bits":
        return (rng.random((WIDTH, N)) < 0.4).astype(np.uint8)
    if kind == "uint8":
        return rng.integers(0, 256, (WIDTH, N)).astype(np.uint8)
    return rng.normal(size=(WIDTH, N)).astype(np.float32)


@pytest.mark.parametrize("compress", [False, True])
@pytest.mark.parametrize(("kind", "scale"), [("bits", 1.0), ("uint8", 0.5), ("float32", 1.0)])
def test_every_batch_of_every_row(tmp_path, kind, scale, compress):
    values = values_of(kind)
    path = tmp_path / "x.h5"
    with create_samples(path, N, WIDTH, kind, scale=scale, compress=compress) as writer:
        writer.put_inputs(0, values[:, :16])
        writer.put_inputs(16, values[:, 16:])
    rows = np.array([0, 3, 1023, 1024, 1029])
    with open_samples(path) as samples:
        assert samples.header.packed == (kind == "bits")
        for start in range(N):
            for stop in range(start + 1, N + 1):
                found = samples.inputs(start, stop, rows, np.float64)
                np.testing.assert_array_equal(found, values[rows, start:stop] * scale)
        assert samples.inputs(0, 5, rows[:0], np.float32).shape == (0, 5)


def test_labels_and_categories(tmp_path):
    with create_samples(tmp_path / "x.h5", 4, 3, "bits") as writer:
        writer.put_inputs(0, np.zeros((3, 4)))
        writer.put_labels(np.array([0, 2, 1, 2]), 3)
        writer.put_categories(np.array([2, 4]))
    with open_samples(tmp_path / "x.h5") as samples:
        assert samples.labels().tolist() == [0, 2, 1, 2]
        assert samples.categories().tolist() == [2, 4]
        assert samples.header.classes == 3


def test_what_is_refused(tmp_path):
    with create_samples(tmp_path / "x.h5", 4, 3, "float32") as writer:
        with pytest.raises(FormatError, match=r"label 3 of sample 1 is outside 0\.\.2"):
            writer.put_labels(np.array([0, 3, 1, 2]), 3)
        with pytest.raises(FormatError, match=r"ascend within 1\.\.4"):
            writer.put_categories(np.array([0, 2]))
        with pytest.raises(InputError, match="3 labels for 4 samples"):
            writer.put_labels(np.array([0, 1, 1]), 3)
        writer.put_inputs(0, np.array([[0, 1, np.inf, 0]] * 3, np.float32))
    with open_samples(tmp_path / "x.h5") as samples:
        with pytest.raises(FormatError, match="sample 2 has an input that is not finite"):
            samples.inputs(1, 4, np.arange(3), np.float32)
        with pytest.raises(InputError, match="has no labels"):
            samples.labels()
