"""Who started a process, by what its environment says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hpc.comm.foreign_launcher import advice, alone, stranded
from hpc.comm.launcher import Launch, launched

HYDRA = {"PMI_RANK": "1", "PMI_SIZE": "4", "MPI_LOCALNRANKS": "2", "HYDI_CONTROL_FD": "7"}
OPEN_MPI = {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4", "PMIX_RANK": "2"}
BATCH = {"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4", "SLURM_NPROCS": "4", "SLURM_PROCID": "0"}
STEP = BATCH | {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "4", "SLURM_PROCID": "3"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        (HYDRA, Launch("MPICH's mpirun", 1, 4, "pmi")),
        (HYDRA | {"I_MPI_MPIRUN": "mpirun"}, Launch("Intel MPI's mpirun", 1, 4, "pmi")),
        (
            {"PMI_ID": "1", "PMI_SIZE": "2", "PMI_PORT": "h:1"},
            Launch("MPICH's mpirun", 1, 2, "pmi"),
        ),
        (OPEN_MPI, Launch("Open MPI's mpirun", 2, 4, "pmix")),
        (
            {"MV2_COMM_WORLD_RANK": "1", "MV2_COMM_WORLD_SIZE": "2", "PMI_ID": "1"},
            Launch("MVAPICH's mpirun", 1, 2, "pmi"),
        ),
        # srun: without any interface, with PMI 2, with PMIx
        (STEP, Launch("srun", 3, 4, "")),
        (STEP | {"PMI_RANK": "3", "PMI_SIZE": "4"}, Launch("srun", 3, 4, "pmi")),
        (STEP | {"PMIX_RANK": "3"}, Launch("srun", 3, 4, "pmix")),
        # a batch script is one process of a job of four, as is a shell of salloc
        (BATCH, None),
        (BATCH | {"SLURM_STEP_ID": "4294967291", "SLURM_STEP_NUM_TASKS": "4"}, None),
        (BATCH | {"SLURM_STEP_ID": "4294967290", "SLURM_STEP_NUM_TASKS": "1"}, None),
        # an mpirun in an allocation starts its helpers, one a host, by srun
        (STEP | HYDRA | {"SLURM_STEP_NUM_TASKS": "2"}, Launch("MPICH's mpirun", 1, 4, "pmi")),
        (STEP | OPEN_MPI, Launch("Open MPI's mpirun", 2, 4, "pmix")),
        (BATCH | HYDRA, Launch("MPICH's mpirun", 1, 4, "pmi")),
        ({"PMI_RANK": "x", "PMI_SIZE": "2"}, None),
    ],
)
def test_who_started_it(environment, expected):
    assert launched(environment) == expected


def test_alone_is_one_of_several_who_sees_no_other():
    four = Launch("srun", 0, 4, "")
    assert alone(four, 1)
    assert not alone(four, 4)
    assert not alone(Launch("srun", 0, 1, ""), 1)
    assert not alone(None, 1)


def test_mpich_ends_a_process_that_is_offered_pmix_only():
    launch = launched(OPEN_MPI)
    assert stranded(launch, "MPICH", False)
    assert not stranded(launch, "MPICH", True)
    assert not stranded(launch, "Open MPI", True)
    assert not stranded(launched(HYDRA), "MPICH", False)
    assert not stranded(None, "MPICH", False)


def test_advice_names_both_and_what_to_do():
    said = advice(launched(OPEN_MPI), "MPICH 5.0.2", Path("/x/mpirun"))
    assert said.startswith("Open MPI's mpirun started 4 processes, but mpi4py uses MPICH 5.0.2")
    assert said.endswith("use MPICH's mpirun, /x/mpirun")
    said = advice(launched(STEP), "MPICH 5.0.2", None)
    assert "srun --mpi=pmi2" in said
    assert "srun --mpi=pmix" in advice(launched(STEP), "Open MPI 5.0.11", None)
    assert "built for" in advice(launched(STEP), "Other 1.0", None)
    assert "\n" not in said
