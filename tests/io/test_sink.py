"""A disk that fills: one message, no crash, no half file. In processes that may not write much."""

from __future__ import annotations

import resource
import subprocess
import sys

import pytest

LIMIT = 300_000
"""Bytes that a file may have there; beyond, the system says that it is too large."""
COMMANDS = {
    "an appended network": "-m datasets graph-challenge --neurons 1024 --layers 6 --out OUT",
    "ranges": "-m datasets random --sizes 900,900 --degree 90 --kind er --out OUT",
    "whole arrays": "-m partition build NET --parts 2 --method random --out OUT",
}


def limited():
    resource.setrlimit(resource.RLIMIT_FSIZE, (LIMIT, LIMIT))


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.h5"
    sizes = ",".join(["3000"] * 60)
    subprocess.run(
        [sys.executable, "-m", "datasets", "random", "--sizes", sizes, "--degree", "1",
         "--kind", "er", "--out", path],
        check=True, timeout=100, capture_output=True,
    )  # fmt: skip
    return path


@pytest.mark.parametrize("what", COMMANDS)
def test_a_full_disk(tmp_path, network, what):
    out = tmp_path / "out.h5"
    words = COMMANDS[what].replace("OUT", str(out)).replace("NET", str(network)).split()
    ran = subprocess.run(
        [sys.executable, *words], preexec_fn=limited, capture_output=True, text=True, timeout=100
    )
    assert ran.returncode == 2, (ran.returncode, ran.stderr)
    message = ran.stderr.strip().splitlines()[-1]
    assert message.endswith(f"error: {out}: cannot be written (File too large)"), ran.stderr
    assert "Traceback" not in ran.stderr
    assert list(tmp_path.iterdir()) == []
