"""Every schedule and baseline, on 1 to 4 ranks, gives the weights of the plain reference loop."""

from __future__ import annotations

from functools import cache

import pytest
import torch

from hpc.pipebd.distillation import distill
from tests.pipebd.small_runs import (
    NAS,
    VGG,
    job_of,
    opened_program,
    reference_states,
    write_images,
)
from tests.pipebd.test_step import TOLERANCE, relative_error

BATCH = 7
SCHEDULES = {
    1: {VGG: ["0-12@0"], NAS: ["0-5@0"]},
    2: {VGG: ["0-12@0-1", "0-4@0 5-12@1"], NAS: ["0-5@0-1", "0-1@0 2-5@1"]},
    3: {
        VGG: ["0-3@0-1 4-12@2", "0@0 1-12@1-2", "0-1@0 2-5@1 6-12@2"],
        NAS: ["0-2@0-1 3-5@2", "0@0 1-5@1-2", "0-5@0-2"],
    },
    4: {
        VGG: ["0-2@0-2 3-12@3", "0@0 1-12@1-3", "0-5@0-1 6-12@2-3"],
        NAS: ["0-2@0-2 3-5@3", "0@0 1-5@1-3", "0-1@0-1 2@2 3-5@3"],
    },
}
NAMES = ["tr", "tr+dpu", "ir", "dp", "ls"]


@cache
def expected(path, name, dtype):
    with opened_program(path, name, dtype, BATCH) as (program, _):
        return reference_states(program)


def distilled(comm, path, name, dtype, asked, queue=2):
    with opened_program(path, name, dtype, BATCH) as (program, head):
        packing = [range(rank, program.n_blocks, comm.size) for rank in range(comm.size)]
        job = job_of(comm, program, asked, queue, packing)
        return distill(job, head, False, lambda report: None)


def check(comm, path, name, dtype, asked, queue=2):
    found = distilled(comm, path, name, dtype, asked, queue)
    if comm.rank == 0:
        assert relative_error(found.students, expected(path, name, dtype)) <= TOLERANCE[dtype]
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    from mpi4py import MPI

    folder = MPI.COMM_WORLD.bcast(str(tmp_path_factory.mktemp("images")))
    if MPI.COMM_WORLD.rank == 0:
        write_images(f"{folder}/x.h5")
    MPI.COMM_WORLD.Barrier()
    return f"{folder}/x.h5"


@pytest.mark.mpi
@pytest.mark.parametrize("name", [VGG, NAS])
def test_every_schedule_gives_the_reference_weights(comm, path, name):
    for asked in [*SCHEDULES[comm.size][name][:3], *NAMES]:
        check(comm, path, name, torch.float64, asked)
