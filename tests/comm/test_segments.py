"""Shared memory of MPICH: no name of it is left in /dev/shm, whatever becomes of a rank."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
import time

import pytest

from hpc.comm.segments import BEGIN, FOLDER, OLD_S, unname_segments

pytestmark = [
    pytest.mark.mpi,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="this system has no such folder"),
]


def test_this_job_has_none_with_a_name(comm):
    unname_segments(comm)
    with open("/proc/self/maps") as maps:
        named = [line for line in maps if BEGIN in line and "(deleted)" not in line]
    assert named == []


@pytest.mark.parametrize(("age_s", "stays"), [(2 * OLD_S, False), (0, True)])
def test_what_a_killed_job_left(comm, age_s, stays):
    path = left_over(age_s)
    try:
        unname_segments(comm)
        assert path.exists() == stays
    finally:
        path.unlink(missing_ok=True)


HOLD = """
import mmap, sys
with open(sys.argv[1], "r+b") as file:
    held = mmap.mmap(file.fileno(), 0)
print(flush=True)
input()
"""


def test_what_another_job_maps_stays(comm):
    path = left_over(2 * OLD_S)
    words = [sys.executable, "-c", HOLD, path]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        other.stdout.readline()
        unname_segments(comm)
        assert path.exists()
        other.communicate(b"\n", timeout=20)
    unname_segments(comm)
    assert not path.exists()


def left_over(age_s):
    """Return a segment that nobody maps, and that has not been touched for so long."""
    path = FOLDER / f"{BEGIN}test_{os.getpid()}"
    path.write_bytes(bytes(mmap.PAGESIZE))
    then = time.time() - age_s
    os.utime(path, (then, then))
    return path
