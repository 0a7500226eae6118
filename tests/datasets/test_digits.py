"""`datasets digits`: the shipped digits, and samples files given, as 32×32 images."""

from __future__ import annotations

import numpy as np
import pytest

from datasets import digits
from hpc.io.errors import InputError
from hpc.io.images import open_images
from hpc.io.samples import create_samples, open_samples
from hpc.samples import sample_path


def samples(path, side, n_samples=6, kind="uint8"):
    x = np.random.default_rng(side).integers(0, 256, (side * side, n_samples), dtype=np.uint8)
    with create_samples(path, n_samples, side * side, kind) as writer:
        writer.put_inputs(0, x)
        writer.put_labels(np.arange(n_samples) % 10, 10)
    return x


def test_shipped_digits(tmp_path):
    digits.main(["--out", str(tmp_path / "x.h5")])
    with open_samples(sample_path("digits")) as file:
        raw, labels = file.raw(0, file.header.n_samples), file.labels()
    with open_images(tmp_path / "x.h5") as file:
        pixels = np.concatenate([file.pixels("train"), file.pixels("test")])
        assert file.sizes == {"train": 1600, "test": 400}
        found = np.concatenate([file.labels("train"), file.labels("test")])
        assert np.array_equal(found, labels)
        assert not file.traits.flip, "a mirrored 2 is none"
        assert np.isclose(file.traits.mean[1], file.pixels("train").mean() / 255)
    for channel in range(3):
        assert np.array_equal(pixels[:, channel, 2:30, 2:30], raw.T.reshape(-1, 28, 28))
    assert pixels.sum(dtype=np.int64) == 3 * raw.sum(dtype=np.int64), "the border is black"


def test_own_training_and_test_digits(tmp_path):
    train = samples(tmp_path / "train.h5", 32)
    test = samples(tmp_path / "test.h5", 28, n_samples=3)
    digits.main(
        [f"--{k}={tmp_path / f'{k}.h5'}" for k in ("train", "test")]
        + ["--out", str(tmp_path / "x.h5")]
    )
    with open_images(tmp_path / "x.h5") as file:
        assert np.array_equal(file.pixels("train")[:, 0].reshape(6, -1), train.T)
        assert np.array_equal(file.pixels("test")[:, 2, 2:30, 2:30].reshape(3, -1), test.T)
        assert file.labels("test").tolist() == [0, 1, 2]


@pytest.mark.parametrize(("side", "kind"), [(33, "uint8"), (28, "float32")])
def test_inputs_that_are_no_digits(tmp_path, side, kind):
    samples(tmp_path / "train.h5", side, kind=kind)
    with pytest.raises(InputError, match="expected bytes of at most 32×32"):
        digits.main([f"--train={tmp_path / 'train.h5'}", "--out", str(tmp_path / "x.h5")])
