"""A SLURM for the tests that need one."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

from tests.launch.cluster import cluster, missing
from tests.launch.stubs import Stubs


@pytest.fixture(scope="session")
def slurm():
    """Return the environment of a running SLURM of virtual nodes, or skip."""
    if missing():
        pytest.skip(f"needs SLURM: {', '.join(missing())} not installed")
    if os.geteuid() != 0:
        pytest.skip("needs root, to run SLURM's daemons")
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # sockets lie in it: a short path
    try:
        with cluster(folder) as environment:
            yield environment
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def stubs(tmp_path):
    """Return stand-ins for the programs that a job script calls."""
    return Stubs(tmp_path)
