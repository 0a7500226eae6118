"""--quiet: nothing on standard error where all goes well."""

import numpy as np
import pytest

from datasets import graph_challenge
from tests.datasets.test_mnist import idx_bytes


@pytest.fixture
def sources(tmp_path):
    """Return a folder with MNIST's training images, one image in the Challenge's text, no layer."""
    images = np.random.default_rng(3).integers(0, 256, (9, 28, 28), dtype=np.uint8)
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx_bytes(images))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx_bytes(images[:, 0, 0] % 10))
    (tmp_path / "images.tsv").write_text("1\t3\t1\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ("--images-from", "."),
        ("--images", "images.tsv"),
        ("--layers", "2"),
    ],
)
def test_no_progress(sources, words, monkeypatch, capsys):
    monkeypatch.chdir(sources)
    asked = ["--neurons", "1024", *words, "--out", "x.h5"]
    graph_challenge.main(asked)
    assert capsys.readouterr().err != ""
    graph_challenge.main([*asked, "--quiet"])
    said = capsys.readouterr()
    assert said.err == "" and said.out.startswith("x.h5: ")
