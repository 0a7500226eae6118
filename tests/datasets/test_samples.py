import numpy as np
import pytest

from datasets import graph_challenge, mnist
from datasets.challenge_network import challenge_layers
from hpc.io.errors import InputError
from hpc.io.samples import open_samples
from hpc.samples import sample_path

MAX_BYTES = 1_000_000


def categories(x, layers):
    """Return the 1-based numbers of the columns of x that are alive after all layers."""
    alive = np.arange(x.shape[1])
    for layer in layers:
        x = np.clip(layer.weight @ x + layer.bias[:, None], 0, 32)
        keep = x.any(axis=0)
        x, alive = x[:, keep], alive[keep]
    return alive + 1


def test_shipped_images_have_the_official_categories():
    with open_samples(sample_path("challenge-1024")) as samples:
        x = samples.inputs(0, 2000, np.arange(1024), "float32")
        official = samples.categories()
    assert len(official) == 73
    np.testing.assert_array_equal(categories(x, challenge_layers(1024, 120, "float32")), official)


def test_shipped_digits_are_digits():
    with open_samples(sample_path("digits")) as samples:
        header, labels = samples.header, samples.labels()
        x = samples.inputs(0, 2000, np.arange(784), "float64")
    assert (header.n_samples, header.classes) == (2000, 10)
    assert np.bincount(labels, minlength=10).min() > 150
    assert (x.min(), x.max()) == (0, 1)
    # They can be told apart: nearest mean of the first half, on the second.
    means = np.stack([x[:, :1000][:, labels[:1000] == digit].mean(axis=1) for digit in range(10)])
    distance = ((x[None, :, 1000:] - means[:, :, None]) ** 2).sum(axis=1)
    assert (distance.argmin(axis=0) == labels[1000:]).mean() > 0.7


def test_the_samples_are_small():
    files = list(sample_path("digits").parent.glob("*.h5"))
    assert sum(path.stat().st_size for path in files) <= MAX_BYTES


def test_unknown_samples_are_named():
    with pytest.raises(InputError, match="expected one of challenge-1024, digits"):
        sample_path("cats")


@pytest.fixture(scope="module")
def whole_challenge(shared_data, tmp_path_factory):
    """Return (samples file, official categories): all 60,000 inputs for N = 1024."""
    truth = shared_data / "graph-challenge" / "neuron1024-l120-categories.tsv"
    out = tmp_path_factory.mktemp("challenge") / "x.h5"
    source = ["--neurons", "1024", "--images-from", str(shared_data / "mnist")]
    graph_challenge.main([*source, "--categories", str(truth), "--out", str(out)])
    return out, np.loadtxt(truth, int)


@pytest.mark.slow
def test_all_challenge_images_have_the_official_count_and_categories(whole_challenge):
    path, official = whole_challenge
    with open_samples(path) as samples:
        assert np.bitwise_count(samples.raw(0, 60_000)).sum(dtype=int) == 6_374_505
        x = samples.inputs(0, 60_000, np.arange(1024), "float32")
        np.testing.assert_array_equal(samples.categories(), official)
    assert len(official) == 1812
    np.testing.assert_array_equal(categories(x, challenge_layers(1024, 120, "float32")), official)


@pytest.mark.slow
def test_the_shipped_images_are_the_first_of_all(whole_challenge):
    path, official = whole_challenge
    with open_samples(path) as whole, open_samples(sample_path("challenge-1024")) as shipped:
        np.testing.assert_array_equal(whole.raw(0, 2000), shipped.raw(0, 2000))
        np.testing.assert_array_equal(official[official <= 2000], shipped.categories())


@pytest.mark.slow
def test_the_shipped_digits_are_the_first_of_mnist(shared_data, tmp_path):
    options = ["--source", str(shared_data / "mnist"), "--first", "2000", "--compress"]
    mnist.main([*options, "--out", str(tmp_path / "digits.h5")])
    with open_samples(tmp_path / "digits.h5") as made, open_samples(sample_path("digits")) as ours:
        np.testing.assert_array_equal(made.raw(0, 2000), ours.raw(0, 2000))
        np.testing.assert_array_equal(made.labels(), ours.labels())
        assert made.header.scale == ours.header.scale
