"""Ctrl-C and TERM end every rank in seconds, with one line and no half file."""

from __future__ import annotations

import signal

import pytest

from tests.launching import ROOT, run_alone
from tests.stopping import OPEN_MPI, outcome, started, wait_for

HEARD = 0 if OPEN_MPI else 1
"""Whether mpirun passes on what ranks say when it was told to end."""


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_training(tmp_path, network, size, number):
    words = [
        "spdnn", "train", network, ROOT / "hpc" / "samples" / "digits.h5",
        "--epochs", 1_000_000, "--batch", 16, "--lr", 1e-6, "--out", tmp_path / "o.h5",
    ]  # fmt: skip
    with started(size, *words) as running:
        for line in running.stdout:
            if line.startswith("epoch"):
                break
        running.send_signal(number)
        code, _, errors = outcome(running)
    assert code != 0
    assert "Traceback" not in errors
    assert errors.count("hpc: interrupted (") == HEARD, errors
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_being_written(tmp_path, network):
    big = tmp_path / "big.h5"
    sizes = ("--sizes", "784,20000", "--degree", "2", "--kind", "er", "--out", big)
    assert run_alone("-m", "datasets", "random", *sizes).returncode == 0
    words = [
        "spdnn", "infer", big, ROOT / "hpc" / "samples" / "digits.h5",
        "--scores", "--batch", 16, "--quiet", "--out", tmp_path / "scores.tsv",
    ]  # fmt: skip
    with started(2, *words) as running:
        wait_for(lambda: list(tmp_path.glob("scores.tsv.partial-*")))
        running.send_signal(signal.SIGINT)
        _, _, errors = outcome(running)
    assert errors.count("hpc: interrupted (") == HEARD, errors
    assert list(tmp_path.iterdir()) == [big]
