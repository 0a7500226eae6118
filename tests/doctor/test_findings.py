"""Each finding on made-up facts: what is said, what is to be set, and when nothing is."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hpc.comm.launcher import Launch
from hpc.doctor.command import figures, text
from hpc.doctor.facts import Gpu, LinkTime
from hpc.doctor.findings import findings, ranks_text
from tests.doctor.made_up import MPICH, OPEN_MPI, ranks

YIELDING = replace(MPICH, yields=True)
BOTH = {"cores": (0, 1)}


def only(everybody, links=()):
    """Return the one finding there is."""
    found = findings(everybody, links)
    assert len(found) == 1, list(map(str, found))
    return str(found[0])


@pytest.mark.parametrize(
    "everybody",
    [
        ranks({}),
        ranks({}, {}),
        ranks(BOTH, BOTH),
        ranks({"threads": {}}),  # alone, a rank may take all cores
        ranks(*[BOTH | {"mpi": YIELDING}] * 4),
        ranks({}, {"host": "b", "cores": (0,)}),
        ranks({"gpu": Gpu("G", "1"), "host_gpus": 2, "cuda_built": True}, {"gpu": Gpu("G", "2")}),
        ranks({"gpu": Gpu("G", "1")}, {"gpu": Gpu("G", "1"), "host": "b"}),
        ranks({"shm_free": None}, {"shm_free": None}),
        ranks({"threads": {"OMP_NUM_THREADS": "2"}} | BOTH),
    ],
)
def test_nothing_is_wrong(everybody):
    assert findings(everybody, [LinkTime((0, 1), 1e-5, 1e9)] if len(everybody) > 1 else []) == []


def test_more_ranks_than_cores():
    said = only(ranks(*[BOTH] * 3))
    assert "3 ranks on 2 cores" in said
    assert "MPIR_CVAR_ENABLE_HEAVY_YIELD=1" in said
    assert "--oversubscribe" in only(ranks(*[BOTH | {"mpi": OPEN_MPI}] * 3))


def test_ranks_bound_to_the_same_core():
    bound = {"cores": (3,), "host_cores": 8, "mpi": YIELDING}
    said = only(ranks(bound, bound, bound | {"cores": (4,)}))
    assert "ranks 0-1 may use only core 3 of 8" in said
    assert "-bind-to core" in said


def test_all_ranks_bound_to_one_core():
    said = only(ranks(*[{"cores": (0,), "mpi": YIELDING}] * 2))
    assert "ranks 0-1 may use only core 0 of 2" in said


def test_a_small_allocation_is_no_binding():
    small = {"cores": (0, 1), "host_cores": 8}
    assert "4 ranks on 2 cores of 8" in only(ranks(*[small] * 4))
    assert findings(ranks(*[small | {"mpi": YIELDING}] * 4)) == []


@pytest.mark.parametrize(
    ("number", "n_ranks", "said"),
    [("2", 2, "4 threads of 2 ranks on 2 cores"), ("4", 1, "4 threads of 1 rank on 2 cores")],
)
def test_more_threads_than_cores(number, n_ranks, said):
    found = only(ranks(*[BOTH | {"threads": {"OMP_NUM_THREADS": number}}] * n_ranks))
    assert said in found
    assert f"set OMP_NUM_THREADS to {2 // n_ranks}" in found


def test_threads_of_another_library():
    threads = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "4"}
    assert "set MKL_NUM_THREADS to 1" in only(ranks(*[BOTH | {"threads": threads}] * 2))


def test_threads_not_set():
    said = only(ranks({"threads": {}}, {}))
    assert "not set for rank 0" in said
    assert "set OMP_NUM_THREADS=1" in said


def test_no_numba():
    missing = {
        "numba": "kernel 'numba': No module named 'numba'; pip ...",
        "scipy": "",
        "torch": "",
    }
    said = only(ranks({}, {"kernels": missing}))
    assert said.startswith("rank 1: numba is not there")
    assert "relaycut[fast]" in said
    broken = only(ranks({"kernels": {"numba": "does not load: libx.so"}}))
    assert "cannot be used (does not load: libx.so)" in broken


def test_ranks_that_share_a_gpu():
    one = {"gpu": Gpu("H200", "GPU-1")}
    assert "a: ranks 0, 2 share a GPU" in only(
        ranks(one, {"gpu": Gpu("H200", "GPU-2"), "host_cores": 4}, one)
    )


def test_a_torch_without_cuda_on_a_host_with_gpus():
    assert "built without CUDA" in only(ranks({"host_gpus": 1, "cuda_built": False}))


def test_little_shared_memory():
    said = only(ranks({"shm_free": 9 << 20}, {"shm_free": 9 << 20}))
    assert "9 MiB free in /dev/shm for 2 ranks, which may need 16" in said


def test_launcher_of_another_mpi():
    said = only(ranks({"launch": Launch("Open MPI's mpirun", 0, 4, "pmix")}))
    assert "Open MPI's mpirun started 4 processes" in said
    assert "MPICH's mpirun" in said


@pytest.mark.parametrize("what", ["relaycut", "numpy"])
def test_different_versions(what):
    other = {"versions": {"relaycut": "0.1.0 (12345678)", "numpy": "2.2.0"} | {what: "new"}}
    said = only(ranks({}, other, {"cores": (1,), "host": "b"}))
    assert said.startswith(f"{what} differs: ranks 0, 2 ")
    assert "; rank 1 new" in said


def test_different_mpi_and_what_only_some_have():
    other = {"mpi": OPEN_MPI, "versions": {"relaycut": "0.1.0 (12345678)"}}
    first, second = findings(ranks({}, other))
    assert "MPI differs: rank 0 MPICH 5.0.2; rank 1 Open MPI 5.0.11" in str(first)
    assert "rank 1 none" in str(second)


def test_a_folder_that_cannot_be_written():
    said = only(ranks({"folders": {"/home/u": True, "/home/u/.cache/relaycut": False}}))
    assert "rank 0: /home/u/.cache/relaycut cannot be written" in said
    assert "NUMBA_CACHE_DIR" in said


def test_slow_links_within_a_host_and_between_two():
    slow = [LinkTime((0, 1), 0.02, 1e9)]
    assert "takes 20 ms: another program" in only(ranks({}, {}), slow)
    assert "between a and b" in only(ranks({}, {"host": "b"}), slow)


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ([3], "rank 3"),
        ([0, 1], "ranks 0-1"),
        ([5, 0, 1, 2], "ranks 0-2, 5"),
        ([1, 3], "ranks 1, 3"),
    ],
)
def test_ranks_for_people(numbers, said):
    assert ranks_text(numbers) == said


def test_what_is_printed():
    everybody = ranks({"threads": {}}, {"mpi": OPEN_MPI, "shm_free": None})
    links = [LinkTime((0, 1), 2e-6, 3e9)]
    wrong = findings(everybody, links)
    said = text(everybody, links, wrong)
    assert "MPI       rank 0: MPICH 5.0.2 (standard 5.0), threads: multiple" in said
    assert "0 - 1 2 µs 3 GB/s" in [" ".join(line.split()) for line in said.splitlines()]
    assert said.count("wrong: ") == len(wrong) == 2
    assert "nothing is wrong" in text(ranks({}), [], [])
    told = figures(everybody, links, wrong)
    assert [one["rank"] for one in told["ranks"]] == [0, 1]
    assert told["ranks"][1]["mpi"]["large_counts"] is False
    assert told["findings"][0]["remedy"]
