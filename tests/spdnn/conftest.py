"""What the tests of `spdnn` commands under mpirun train."""

from __future__ import annotations

import pytest

from tests.launching import run_alone


@pytest.fixture(scope="session")
def network(tmp_path_factory):
    """Return a small network for images of digits; modules that need another have their own."""
    path = tmp_path_factory.mktemp("net") / "net.h5"
    sizes = ("--sizes", "784,300,300,10", "--degree", "8", "--kind", "er")
    rest = ("--activation", "relu,relu,identity", "--init", "scaled", "--out", path)
    assert run_alone("-m", "datasets", "random", *sizes, *rest).returncode == 0
    return path
