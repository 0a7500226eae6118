"""What is no communicator, and the mpirun of another MPI, in a script that calls the library."""

import pytest
from mpi4py import MPI

import hpc.pipebd
import hpc.spdnn
from hpc.comm.borrowed import borrowed
from hpc.io.errors import InputError
from tests.comm.test_foreign_launcher import ENVIRONMENTS, crossed
from tests.launching import run_ranks

SCRIPT = """
import sys
import numpy as np
from mpi4py import MPI
import hpc.spdnn
try:
    answer = hpc.spdnn.infer(MPI.COMM_WORLD, [(np.eye(3), None, "relu")], np.ones((2, 3)))
    said = f"found {len(answer.categories)}"
except ValueError as error:
    said = f"{type(error).__name__}: {error}"
sys.stdout.write(f"{MPI.COMM_WORLD.size} {said}\\n")
"""
CALLS = (
    hpc.spdnn.infer, hpc.spdnn.train, hpc.spdnn.measure_machine, hpc.pipebd.train,
    hpc.pipebd.profile, hpc.pipebd.finetune, hpc.pipebd.evaluate,
)  # fmt: skip
NONE = {
    "None": None,
    "5 (int)": 5,
    "the class Comm": MPI.Comm,
    "'world' (str)": "world",
    "MPI.COMM_NULL": MPI.COMM_NULL,
}


@pytest.mark.parametrize("said", NONE)
@pytest.mark.parametrize("call", CALLS)
def test_what_is_no_communicator(call, said):
    more = {hpc.spdnn.measure_machine: 0, hpc.pipebd.evaluate: 2}.get(call, 3)
    if call in (hpc.spdnn.infer, hpc.spdnn.train, hpc.pipebd.train, hpc.pipebd.profile):
        more = 2
    with pytest.raises(InputError) as raised:
        call(NONE[said], *[None] * more)
    assert str(raised.value) == (
        f"comm: {said}, expected an intracommunicator of mpi4py, such as MPI.COMM_WORLD"
    )


def test_a_communicator_that_was_freed():
    comm = MPI.COMM_SELF.Dup()
    comm.Free()
    with pytest.raises(InputError, match="comm: has been freed"), borrowed(comm):
        pass


@pytest.mark.parametrize("size", [2, 3])
def test_the_launcher_of_another_mpi(size):
    """Each process believes that it is rank 0 of 1, and says what the commands say."""
    done = crossed("MPICH", "Open MPI", size, "-c", SCRIPT)
    lines = done.stdout.splitlines()
    assert len(lines) == size, done.stdout + done.stderr
    for line in lines:
        assert line.startswith(
            f"1 InputError: MPICH's mpirun started {size} processes, but mpi4py uses Open MPI "
        )
        assert f"use Open MPI's mpirun, {ENVIRONMENTS['Open MPI'] / 'mpirun'}" in line


def test_the_right_launcher_is_left_alone():
    done = run_ranks(2, "-c", SCRIPT)
    assert done.stdout.splitlines() == ["2 found 2"] * 2, done.stderr
