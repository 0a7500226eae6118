import gzip

import numpy as np
import pytest

from datasets import mnist
from hpc.io.errors import FormatError, InputError
from hpc.io.samples import open_samples


def idx_bytes(array):
    return bytes((0, 0, 8, array.ndim)) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


@pytest.fixture
def digits(tmp_path):
    """Return (folder, images, labels): nine digits of the test set, in MNIST's layout."""
    rng = np.random.default_rng(3)
    images = rng.integers(0, 256, (9, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, 9, dtype=np.uint8)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(idx_bytes(images))
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(labels))
    return tmp_path, images, labels


def run(folder, *arguments):
    out = folder / "x.h5"
    options = ["--source", folder, "--split", "test", *arguments, "--out", out]
    mnist.main([str(option) for option in options])
    return out


@pytest.mark.parametrize("zipped", [False, True])
@pytest.mark.parametrize("dotted", [False, True])
def test_pixels_become_inputs_between_0_and_1(digits, zipped, dotted):
    folder, images, labels = digits
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        path.unlink()
        name = path.name.replace("-idx", ".idx") if dotted else path.name
        if zipped:
            (folder / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (folder / name).write_bytes(content)
    with open_samples(run(folder)) as samples:
        found = samples.inputs(0, 9, np.arange(784), "float64")
        np.testing.assert_array_equal(samples.labels(), labels)
    np.testing.assert_allclose(found.T, images.reshape(9, 784) / 255, rtol=1e-15)


def test_side_32_has_a_border_of_two_zero_pixels(digits):
    folder, images, labels = digits
    with open_samples(run(folder, "--side", 32, "--first", 5)) as samples:
        found = samples.inputs(0, 5, np.arange(1024), "float64").T.reshape(5, 32, 32)
        np.testing.assert_array_equal(samples.labels(), labels[:5])
    np.testing.assert_allclose(found[:, 2:-2, 2:-2], images[:5] / 255, rtol=1e-15)
    assert found.sum() == pytest.approx(images[:5].sum() / 255)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("images-idx3", b"", "not an IDX file of bytes with 3 axes"),
        ("images-idx3", idx_bytes(np.zeros(9, np.uint8)), "not an IDX file of bytes with 3 axes"),
        ("images-idx3", idx_bytes(np.zeros((9, 5, 5), np.uint8)), r"images are \(5, 5\)"),
        ("images-idx3", idx_bytes(np.zeros((9, 28, 28), np.uint8))[:-1], "holds 7055 bytes"),
        ("labels-idx1", idx_bytes(np.zeros(8, np.uint8)), "9 images but 8 labels"),
        ("labels-idx1", idx_bytes(np.full(9, 10, np.uint8)), "label 10 of sample 0 is outside"),
    ],
)
def test_bad_files(digits, name, content, message):
    (digits[0] / f"t10k-{name}-ubyte").write_bytes(content)
    with pytest.raises(FormatError, match=message):
        run(digits[0])
    assert not (digits[0] / "x.h5").exists()


@pytest.mark.parametrize("damage", [lambda raw: raw[:-20], lambda raw: b"no gzip" + raw])
def test_damaged_gzip(digits, damage):
    path = digits[0] / "t10k-images-idx3-ubyte"
    content = gzip.compress(path.read_bytes())
    path.unlink()
    path.with_name(f"{path.name}.gz").write_bytes(damage(content))
    with pytest.raises(FormatError, match="cannot be read"):
        run(digits[0])


def test_missing_files_and_too_many_asked_for(digits):
    with pytest.raises(FormatError, match="has no train-images-idx3-ubyte"):
        run(digits[0], "--split", "train")
    with pytest.raises(InputError, match="holds 9 images, --first 10 asks for more"):
        run(digits[0], "--first", 10)
