"""The README's commands for launching, run as they stand."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest

from launch.mpirun import found_flavour, mpirun_path
from tests.launch.jobs import Jobs
from tests.launching import ROOT, run_alone

RANDOM = (
    "--sizes", "784,32,10", "--degree", 8, "--activation", "relu,identity", "--init", "scaled",
)  # fmt: skip


def commands():
    """Return the section's commands, continued lines joined."""
    section = (ROOT / "README.md").read_text().split("## Launching", 1)[1].split("\n## ", 1)[0]
    lines = re.sub(r"\\\n\s*", "", section).splitlines()
    return [line.strip() for line in lines if line.startswith("    python")]


def last(said):
    return (re.findall(r"^submitted (\d+):", said, re.M) or [""])[-1]


@pytest.fixture
def jobs(slurm, tmp_path):
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    found = Jobs(tmp_path, slurm | {"PATH": path, "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"})
    (tmp_path / "hpc").symlink_to(ROOT / "hpc")
    for name, words in (
        ("net.h5", ("graph-challenge", "--neurons", 1024, "--layers", 4)),
        ("random.h5", ("random", *RANDOM)),
    ):
        made = run_alone("-m", "datasets", *words, "--out", tmp_path / name)
        assert made.returncode == 0, made.stderr
    found.launch(
        "local", "--", "partition", "build", "net.h5", "--parts", 2, "--method", "block",
        "--out", "plan.h5",
    )  # fmt: skip
    return found


@pytest.mark.skipif(found_flavour(mpirun_path()) != "mpich", reason="srun by pmi2 is for MPICH")
def test_commands(jobs):
    for turn in range(2):
        said = ""
        for command in commands():
            said += jobs.run("bash", "-c", command.replace("JOBID", last(said)))
        assert "2000 images on 2 rank(s)" in said
        submitted = re.findall(r"^submitted (\d+):", said, re.M)
        assert len(submitted) == 4
        states = {state for job in submitted for state in jobs.ended(job).split()}
        garbled = "mpi/pmi2: invalid client request" in jobs.logs()  # seen once, SLURM's
        if states == {"COMPLETED"} or turn or not garbled:
            break
    for job in submitted:
        assert set(jobs.ended(job).split()) == {"COMPLETED"}, jobs.logs()
    assert {"plan4.h5", "trained.h5", "trained-0.01.h5", "trained-0.001.h5"} <= {
        path.name for path in jobs.folder.iterdir()
    }
