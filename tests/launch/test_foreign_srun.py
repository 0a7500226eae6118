"""On a real SLURM: srun that offers no interface is named; a batch script is one process."""

from __future__ import annotations

import subprocess
import sys

import pytest

from launch.mpirun import found_flavour, mpirun_path
from tests.launching import ROOT

INFER = (sys.executable, "-m", "hpc", "spdnn", "infer", "no.h5", "no.h5")
MPICH = found_flavour(mpirun_path()) == "mpich"
pytestmark = pytest.mark.launches


def ran(slurm, *words):
    command = ["timeout", "100", *map(str, words)]
    return subprocess.run(command, cwd=ROOT, env=slurm, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("place", [("-n", 3), ("-N", 2, "--ntasks-per-node", 1)])
def test_srun_without_an_interface(slurm, place):
    done = ran(slurm, "srun", "--mpi=none", *place, *INFER)
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("hpc: error") == 1, done.stderr
    assert f"srun started {3 if 3 in place else 2} processes" in done.stderr
    assert f"srun --mpi={'pmi2' if MPICH else 'pmix'}" in done.stderr


@pytest.mark.skipif(not MPICH, reason="needs PMI 2")
def test_srun_with_the_right_one(slurm):
    done = ran(slurm, "srun", "--mpi=pmi2", "-n", 2, *INFER)
    assert done.returncode == 2
    assert "started" not in done.stderr
    assert "no.h5" in done.stderr


def test_one_process_of_a_batch_script_with_four_tasks(slurm, tmp_path):
    script = tmp_path / "job.sh"
    script.write_text(f"#!/bin/sh\nenv | grep ^SLURM_\n{' '.join(INFER)}\n")
    log = tmp_path / "log"
    done = ran(slurm, "sbatch", "--wait", "-n", 4, "-o", log, "--chdir", ROOT, script)
    said = log.read_text()
    assert done.returncode == 2, done.stderr + said
    assert "SLURM_NTASKS=4" in said
    assert "no.h5" in said
    assert "started" not in said
