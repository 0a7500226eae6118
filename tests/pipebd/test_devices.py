"""Ranks to devices, devices to transports."""

from __future__ import annotations

import pytest
import torch

from hpc.io.errors import InputError
from hpc.pipebd import devices

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.mark.parametrize(
    ("visible", "expected"),
    [
        ([("a", "b")] * 2, [0, 1]),
        ([("a", "b")] * 5, [0, 1, 0, 1, 0]),
        ([("a",), ("b",), ("c",)], [0, 0, 0]),  # SLURM gave each rank a GPU of its own
        ([("a", "b"), ("c",), ("a", "b")], [0, 0, 1]),
    ],
)
def test_ranks_take_the_gpus_they_see_in_turn(visible, expected):
    assert devices.assign(visible) == expected


@pytest.fixture
def alone():
    return pytest.importorskip("mpi4py.MPI").COMM_SELF


def test_unknown_device(alone):
    with pytest.raises(InputError, match=r"unknown device 'gpu'; expected cpu, cuda, auto"):
        devices.place(alone, "gpu")


def test_cuda_without_one(alone, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InputError, match="--device cuda: rank 0 has no CUDA device"):
        devices.place(alone, "cuda")
    assert devices.place(alone, "auto").device == CPU


@pytest.fixture
def two_gpus(monkeypatch):
    """Let torch believe in two GPUs; return the list of those made current."""
    current = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda index: f"gpu{index}")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Fake")
    monkeypatch.setattr(torch.cuda, "set_device", current.append)
    return current


@pytest.mark.mpi
def test_ranks_share_two_gpus_and_say_so(comm, two_gpus):
    found = devices.place(comm, "auto")
    assert found.device == torch.device("cuda", comm.rank % 2)
    assert two_gpus == [found.device]
    assert found.sharing == len(range(comm.rank % 2, comm.size, 2))
    lines = devices.describe(comm, found, "staged", "why")
    if comm.rank:
        assert lines == []
    else:
        assert lines[0].startswith("device     cuda:0 (Fake)")
        assert ("warning" in lines[-1]) == (comm.size > 2)


@pytest.mark.mpi
def test_one_rank_without_a_gpu_is_named_by_all(comm, monkeypatch, two_gpus):
    last = comm.size - 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: comm.rank != last)
    with pytest.raises(InputError, match=f"rank {last} has no CUDA device"):
        devices.place(comm, "cuda")
    assert devices.place(comm, "auto").device == CPU


def choose(comm, device, says, objection=None, asked="auto"):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices.gpu_support, "switched", lambda _: None)
        patch.setattr(devices.gpu_support, "library_support", lambda _: says)
        patch.setattr(devices.gpu_support, "probe", lambda command: objection)
        return devices.choose_transport(comm, asked, device)


@pytest.mark.parametrize(
    ("device", "says", "objection", "expected"),
    [
        (CPU, True, None, "host"),
        (GPU, None, None, "staged"),
        (GPU, False, None, "staged"),
        (GPU, True, None, "cuda-aware"),
        (GPU, True, "crashed", "staged"),
    ],
)
def test_auto_asks_the_library_then_probes(alone, device, says, objection, expected):
    name, why = choose(alone, device, says, objection)
    assert name == expected
    assert objection is None or why == objection


def test_a_forced_transport_is_not_questioned(alone):
    name, _ = choose(alone, GPU, False, "crashed", asked="cuda-aware")
    assert name == "cuda-aware"


@pytest.mark.mpi
def test_the_objection_of_one_rank_counts_for_all(comm):
    objection = "crashed" if comm.rank == comm.size - 1 else None
    assert choose(comm, GPU, True, objection) == ("staged", "crashed")


@pytest.mark.parametrize(
    ("asked", "device", "message"),
    [
        ("fast", CPU, "unknown transport 'fast'"),
        ("staged", CPU, "expected auto or host"),
        ("host", GPU, "expected auto, staged or cuda-aware"),
    ],
)
def test_transports_that_do_not_go_with_the_device(alone, asked, device, message):
    with pytest.raises(InputError, match=message):
        devices.choose_transport(alone, asked, device)
