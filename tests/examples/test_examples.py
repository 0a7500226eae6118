"""The scripts in examples/ run on 1, 2 and 3 ranks, and what they find is right."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from hpc.io.samples import open_samples
from tests.launching import ROOT, run_ranks

SCRIPTS = sorted(path.name for path in (ROOT / "examples").glob("*.py"))


def run(name, ranks):
    ran = run_ranks(ranks, ROOT / "examples" / name)
    assert ran.returncode == 0 and not ran.stderr, ran.stderr
    return ran.stdout


def difference(text):
    return float(re.search(r"largest difference from [a-z ]+: (\S+)", text)[1])


def test_all_are_run_and_short():
    tested = Path(__file__).read_text(encoding="utf-8")
    for name in SCRIPTS:
        assert f'run("{name}"' in tested, f"no test runs {name}"
        assert len((ROOT / "examples" / name).read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_inference(ranks):
    text = run("spdnn_infer.py", ranks)
    assert f"1000 inputs on {ranks} rank(s)" in text
    assert difference(text) < 1e-3, "outputs of up to a few hundred, in float32"


def test_training_is_the_same_on_any_number_of_ranks():
    found = []
    for ranks in (1, 2, 3):
        text = run("spdnn_train.py", ranks)
        assert "2000 digits through the trained network" in text
        epochs = re.findall(r"epoch (\d)  loss (\S+)  held out (\S+)", text)
        found.append([[float(value) for value in epoch] for epoch in epochs])
    np.testing.assert_allclose(found[1:], [found[0]] * 2, rtol=0.01, atol=0.01)
    assert found[0][0][1] > found[0][-1][1] and found[0][-1][2] > 0.8


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_model_of_torch(ranks):
    text = run("own_torch_model.py", ranks)
    assert "10 % of the weights" in text and difference(text) < 1e-4
    assert float(re.search(r"(\S+) % of the digits", text)[1]) > 80


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_own_blocks(ranks):
    text = run("pipebd_own_blocks.py", ranks)
    assert "5 steps" in text and difference(text) < 1e-12


@pytest.mark.parametrize("ranks", [1, 3])
def test_some_of_the_ranks(ranks):
    text = run("part_of_the_ranks.py", ranks)
    assert text.startswith(f"on {max(1, ranks - 1)} rank(s) alive: [3, 4, 5, 6, 7, 8]\n")
    assert "refused: x: inputs of width 5, the network takes 8" in text


def test_the_sample_is_what_the_scripts_say():
    with open_samples(ROOT / "hpc" / "samples" / "digits.h5") as samples:
        assert samples.header.n_samples == 2000 and samples.header.width == 784
