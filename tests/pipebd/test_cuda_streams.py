"""The transports on a real GPU: sending to oneself what slow kernels have just produced."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from hpc.comm import gpu_support

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device"),
]
ROUNDS, SIZE = 6, 1 << 20


def slow(x):
    """Keep the stream busy, so that a copy that does not wait would see the old numbers."""
    square = torch.ones(2048, 2048, device=x.device)
    for _ in range(10):
        square = square @ square * 1e-4
    return x + 0 * square[0, 0].nan_to_num()


def exchange(name):
    from mpi4py import MPI

    from hpc.pipebd.devices import make_transport

    device = torch.device("cuda", 0)
    torch.cuda.set_device(device)
    transport = make_transport(name, device)
    sender = transport.sender(MPI.COMM_SELF, 0, 1, depth=2)
    receiver = transport.receiver(MPI.COMM_SELF, 0, 1, depth=2)
    targets = [torch.zeros(SIZE, device=device) for _ in range(2)]
    sums = []
    for number in range(ROUNDS):
        receiver.post(targets[number % 2])
        sender.send(slow(torch.full((SIZE,), float(number), device=device)))
        sums.append(slow(receiver.take()).sum())
    transport.finish()
    assert [float(s) for s in sums] == [number * SIZE for number in range(ROUNDS)]
    buffer = slow(torch.full((SIZE,), 3.0, device=device))
    transport.all_reduce(MPI.COMM_SELF, buffer)
    assert float(slow(buffer).sum()) == 3 * SIZE


def test_staged():
    exchange("staged")


def test_cuda_aware():
    command = [sys.executable, "-m", "hpc.pipebd.cuda_probe", "0"]
    if gpu_support.probe(command) is not None:
        pytest.skip("MPI does not take device pointers")
    program = f"from {__name__} import exchange; exchange('cuda-aware')"
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_auto_places_ranks_and_chooses_a_transport():
    from mpi4py import MPI

    from hpc.comm.devices import place
    from hpc.pipebd.devices import choose_transport

    placement = place(MPI.COMM_SELF, "auto")
    assert placement.device.type == "cuda"
    assert torch.cuda.current_device() == placement.device.index
    name, why = choose_transport(MPI.COMM_SELF, "auto", placement.device)
    assert name in ("staged", "cuda-aware"), why


def test_the_memory_of_a_block_is_the_allocators_peak():
    from hpc.pipebd.memory import peak_bytes, resident_bytes
    from hpc.pipebd.reducer import Alone
    from tests.pipebd.small_program import CHANNELS, SIDE, SmallWork

    device = torch.device("cuda", 0)
    x = torch.zeros(256, CHANNELS[0], SIDE, SIDE, device=device)
    before = resident_bytes(device)
    work = SmallWork(0, Alone(), len(x), device)
    found = peak_bytes(device, before, work, x)
    images = len(x) * SIDE * SIDE * 4
    assert found >= images * (CHANNELS[0] + 3 * CHANNELS[1])
