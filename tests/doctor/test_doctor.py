"""The command under mpirun: what it prints and writes, and its exit code."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from hpc.doctor.facts import THREAD_VARIABLES
from tests.launching import run_command, run_ranks

YIELDING = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}
ONE_THREAD = dict.fromkeys(THREAD_VARIABLES, "1")
MPIRUN = Path(sys.executable).with_name("mpirun")


def doctor(size, *words, variables=YIELDING | ONE_THREAD):
    command = [MPIRUN, "-n", size, sys.executable, "-m", "hpc", "doctor", *words]
    return run_command(command, 120, variables)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_facts_links_and_findings(tmp_path, size):
    done = doctor(size, "--json", tmp_path / "d.json")
    told = json.loads((tmp_path / "d.json").read_text())
    busy = [one for one in told["findings"] if "a message between" in one["wrong"]]
    assert told["findings"] == busy, done.stdout  # a busy machine is the one thing to be found
    assert done.returncode == bool(busy), done.stderr
    assert done.stdout.count("wrong: ") == len(busy)
    assert ("nothing is wrong" in done.stdout) == (not busy)
    assert [one["rank"] for one in told["ranks"]] == list(range(size))
    for one in told["ranks"]:
        assert one["world"] == size
        assert one["cores"] == sorted(os.sched_getaffinity(0))
        assert one["threads"] == ONE_THREAD
        assert one["kernels"]["scipy"] == ""
        assert one["mpi"]["threads"] == "multiple"
        assert one["mpi"]["large_counts"] == (one["mpi"]["vendor"] == "MPICH")
        assert one["versions"]["relaycut"].startswith("0.1.0 (")
        if size > 1:
            assert one["launch"]["size"] == size
    assert len(told["links"]) == size * (size - 1) // 2
    assert all(link["bandwidth"] > 1e6 for link in told["links"])


def test_what_is_wrong_is_named_and_is_the_exit_code():
    cores = len(os.sched_getaffinity(0))
    bad = {"OMP_NUM_THREADS": str(4 * cores), "HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}
    done = doctor(2, "--quick", variables=YIELDING | ONE_THREAD | bad)
    assert done.returncode == 1, done.stderr
    assert f"{8 * cores} threads of 2 ranks" in done.stdout
    assert "set OMP_NUM_THREADS to" in done.stdout
    assert "ranks 0-1: /proc/none cannot be written" in done.stdout
    assert "latency" not in done.stdout


def test_quiet_names_only_what_is_wrong():
    bad = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none"}
    done = doctor(2, "--quick", "--quiet", variables=YIELDING | ONE_THREAD | bad)
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("wrong: ranks 0-1: /proc/none cannot be written")
    assert all(line.startswith("wrong: ") for line in done.stdout.splitlines())
    done = doctor(1, "--quick", "--quiet")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


def test_more_ranks_than_cores(monkeypatch):
    if "OMPI_MCA_mpi_yield_when_idle" in os.environ:
        monkeypatch.setenv("OMPI_MCA_mpi_yield_when_idle", "0")
    size = len(os.sched_getaffinity(0)) + 1
    if size > 4:
        pytest.skip("needs a rank for every core, and one more")
    done = doctor(size, "--quick", variables=ONE_THREAD | {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "0"})
    if "MPICH" in done.stdout:
        assert done.returncode == 1, done.stdout + done.stderr
        assert f"{size} ranks on {size - 1} core" in done.stdout
        assert "set MPIR_CVAR_ENABLE_HEAVY_YIELD=1" in done.stdout
    else:  # Open MPI that was told that there are more yields by itself
        assert "waiting ranks yield: yes" in done.stdout


def test_bad_usage_and_help(tmp_path):
    done = run_ranks(2, "-m", "hpc", "doctor", "--json", tmp_path / "none" / "d.json")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    said = run_command([sys.executable, "-m", "hpc", "doctor", "--help"], 60).stdout
    assert "Exit code 0: nothing is wrong; 1: something is" in " ".join(said.split())


def test_without_torch_and_numba():
    code = (
        "import sys; sys.modules['numba'] = sys.modules['torch'] = sys.modules['llvmlite'] = None;"
        "from hpc.command_line import main; sys.exit(main(['doctor', '--quick']))"
    )
    done = run_command([MPIRUN, "-n", 1, sys.executable, "-c", code], 60, YIELDING | ONE_THREAD)
    assert done.returncode == 1, done.stderr
    assert "rank 0: numba cannot be used" in done.stdout
    assert done.stdout.count("pip install 'relaycut[fast]'") == 1
