"""Ranks to devices."""

from __future__ import annotations

import pytest
import torch

from hpc.comm import devices
from hpc.io.errors import InputError

CPU = torch.device("cpu")


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


@pytest.mark.mpi
def test_one_rank_without_a_gpu_is_named_by_all(comm, monkeypatch, two_gpus):
    last = comm.size - 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: comm.rank != last)
    with pytest.raises(InputError, match=f"rank {last} has no CUDA device"):
        devices.place(comm, "cuda")
    assert devices.place(comm, "auto").device == CPU
