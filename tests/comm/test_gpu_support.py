"""What the environment, the library and a probe say of device pointers."""

from __future__ import annotations

import sys

import pytest

from hpc.comm import gpu_support


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, None),
        ({"MPICH_GPU_SUPPORT_ENABLED": "1"}, True),
        ({"MPICH_GPU_SUPPORT_ENABLED": "0"}, False),
        ({"MV2_USE_CUDA": "1"}, True),
    ],
)
def test_the_environment_switches(environment, expected):
    assert gpu_support.switched(environment) is expected


class Mpich:
    def __init__(self, code, supported):
        self.code, self.supported = code, supported

    def MPIX_GPU_query_support(self, kind, flag):
        assert kind == gpu_support.CUDA
        flag._obj.value = self.supported
        return self.code


class OpenMpi:
    def __init__(self, supported):
        self.supported = supported

    def MPIX_Query_cuda_support(self):
        return self.supported


@pytest.mark.parametrize(
    ("library", "expected"),
    [
        (Mpich(0, 1), True),
        (Mpich(0, 0), False),
        (Mpich(1, 1), False),
        (OpenMpi(1), True),
        (OpenMpi(0), False),
        (object(), None),
        (None, None),
    ],
)
def test_the_library_is_asked_in_its_own_way(library, expected):
    assert gpu_support.library_support(library) is expected


def test_the_loaded_library_is_found_and_answers():
    pytest.importorskip("mpi4py.MPI")
    library = gpu_support.loaded_library()
    assert hasattr(library, "MPI_Init")
    assert gpu_support.library_support(library) in (True, False, None)


def test_a_probe_is_no_rank_of_the_job():
    environment = {"PMI_RANK": "1", "OMPI_COMM_WORLD_RANK": "1", "SLURM_PROCID": "1", "HOME": "/"}
    assert gpu_support.outside_job(environment) == {"HOME": "/"}


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("pass", None),
        ("import sys; sys.exit('no device')", "code 1 no device"),
        ("import os; os.abort()", "code -6"),
        ("import time; time.sleep(60)", "TimeoutExpired"),
    ],
)
def test_a_probe_tells_why_not(program, reason):
    found = gpu_support.probe([sys.executable, "-c", program], timeout_s=2 if reason else 60)
    assert found is None if reason is None else reason in found


def test_a_probe_that_cannot_start_has_failed():
    assert "FileNotFoundError" in gpu_support.probe(["/no/such/program"])
