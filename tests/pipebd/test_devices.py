"""Devices to transports."""

from __future__ import annotations

import pytest
import torch

from hpc.comm.devices import Placement
from hpc.io.errors import InputError
from hpc.pipebd import devices

CPU, GPU = torch.device("cpu"), torch.device("cuda", 0)


@pytest.fixture
def alone():
    return pytest.importorskip("mpi4py.MPI").COMM_SELF


@pytest.mark.mpi
def test_ranks_that_share_a_gpu_are_warned(comm, monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Fake")
    placement = Placement(torch.device("cuda", comm.rank % 2), 1 + comm.size // 3)
    lines = devices.describe(comm, placement, "staged", "why")
    if comm.rank:
        assert lines == []
    else:
        assert lines[0].startswith("device     cuda:0 (Fake)")
        assert ("warning" in lines[-1]) == (comm.size > 2)


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
