"""Every schedule and baseline, on 1 to 4 ranks, gives the weights of the plain reference loop."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from hpc.pipebd.distillation import distill
from tests.pipebd.small_runs import (
    NAS,
    VGG,
    image_folder,
    job_of,
    opened_program,
    reference_states,
)
from tests.pipebd.test_step import TOLERANCE, relative_error

BATCH = 7
SCHEDULES = {
    1: {VGG: ["0-12@0"], NAS: ["0-5@0"]},
    2: {VGG: ["0-4@0 5-12@1"], NAS: ["0-1@0 2-5@1"]},
    3: {
        VGG: ["0-3@0-1 4-12@2", "0@0 1-12@1-2", "0-1@0 2-5@1 6-12@2"],
        NAS: ["0-2@0-1 3-5@2", "0@0 1-5@1-2", "0-1@0 2@1 3-5@2"],
    },
    4: {
        VGG: ["0-2@0-2 3-12@3", "0@0 1-12@1-3", "0-5@0-1 6-12@2-3", "0@0 1-8@1-2 9-12@3"],
        NAS: ["0-2@0-2 3-5@3", "0@0 1-5@1-3", "0-1@0-1 2-5@2-3"],
    },
}
"""By ranks: shares of 7 images over 1, 2 and 3 ranks meet each other in every way."""
NAMES = ["tr", "tr+dpu", "ir", "dp", "ls"]
PLACES = 4
"""Most schedules spelled out for a number of ranks and a workload."""


@cache
def expected(folder, name, dtype):
    with opened_program(f"{folder}/{name}.h5", name, dtype, BATCH) as (program, _):
        return reference_states(program)


def distilled(comm, folder, name, dtype, asked, queue=2):
    with opened_program(f"{folder}/{name}.h5", name, dtype, BATCH) as (program, head):
        packing = [range(rank, program.n_blocks, comm.size) for rank in range(comm.size)]
        job = job_of(comm, program, asked, queue, packing)
        return distill(job, head, False, lambda report: None)


def check(comm, folder, name, dtype, asked, queue=2):
    found = distilled(comm, folder, name, dtype, asked, queue)
    if comm.rank == 0:
        assert relative_error(found.students, expected(folder, name, dtype)) <= TOLERANCE[dtype]
    return found


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return image_folder(tmp_path_factory)


@pytest.mark.mpi
@pytest.mark.parametrize("place", range(PLACES))
@pytest.mark.parametrize("name", [VGG, NAS])
def test_a_spelled_out_schedule(comm, folder, name, place):
    """Schedules differ by the number of ranks, so pytest knows them by their place."""
    for asked in SCHEDULES[comm.size][name][place : place + 1]:
        check(comm, folder, name, torch.float64, asked)


@pytest.mark.mpi
@pytest.mark.parametrize("asked", NAMES)
@pytest.mark.parametrize("name", [VGG, NAS])
def test_a_schedule_by_name(comm, folder, name, asked):
    check(comm, folder, name, torch.float64, asked)


@pytest.mark.mpi
@pytest.mark.parametrize("name", [VGG, NAS])
@pytest.mark.parametrize("queue", [1, 3])
def test_single_precision_and_other_queues(comm, folder, name, queue):
    asked = SCHEDULES[comm.size][name][0]
    check(comm, folder, name, torch.float32, asked, queue)
