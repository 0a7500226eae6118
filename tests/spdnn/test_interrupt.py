"""Ctrl-C and TERM end every rank in seconds, with one line and no half file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.launching import ROOT, run_alone

SECONDS = 20


def started(size, *words):
    """Start a command on `size` ranks, in a process group of its own."""
    mpirun = Path(sys.executable).with_name("mpirun")
    return subprocess.Popen(
        [str(mpirun), "-n", str(size), sys.executable, "-m", "hpc", *map(str, words)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"},
        start_new_session=True,
    )  # fmt: skip


def ended(running, number):
    """Send the launcher a signal; return the exit code and standard error."""
    running.send_signal(number)
    try:
        _, errors = running.communicate(timeout=SECONDS)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.communicate()
    return running.returncode, errors


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.h5"
    sizes = ("--sizes", "784,300,300,10", "--degree", "8", "--kind", "er")
    rest = ("--activation", "relu,relu,identity", "--init", "scaled", "--out", path)
    assert run_alone("-m", "datasets", "random", *sizes, *rest).returncode == 0
    return path


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_training(tmp_path, network, size, number):
    running = started(
        size, "spdnn", "train", network, ROOT / "hpc" / "samples" / "digits.h5",
        "--epochs", 1_000_000, "--batch", 16, "--lr", 1e-6, "--out", tmp_path / "o.h5",
    )  # fmt: skip
    for line in running.stdout:
        if line.startswith("epoch"):
            break
    code, errors = ended(running, number)
    assert code != 0
    assert "Traceback" not in errors
    assert errors.count("hpc: interrupted (") == 1, errors
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_being_written(tmp_path, network):
    big = tmp_path / "big.h5"
    sizes = ("--sizes", "784,20000", "--degree", "2", "--kind", "er", "--out", big)
    assert run_alone("-m", "datasets", "random", *sizes).returncode == 0
    running = started(
        2, "spdnn", "infer", big, ROOT / "hpc" / "samples" / "digits.h5",
        "--scores", "--batch", 16, "--quiet", "--out", tmp_path / "scores.tsv",
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list(tmp_path.glob("scores.tsv.partial-*")) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert running.poll() is None
    _, errors = ended(running, signal.SIGINT)
    assert errors.count("hpc: interrupted (") == 1, errors
    assert list(tmp_path.iterdir()) == [big]
