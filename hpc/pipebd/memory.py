"""How much memory a block takes at its peak.

On a GPU the allocator's peak. On a CPU, where no allocator tells, a count: what the block keeps
(weights, gradients, optimizer), its input and its teacher's output, and what its student's
forward pass saves for the backward pass; temporaries of single layers are not in it.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterable, Iterator

import torch

from hpc.pipebd.work import BlockWork, Round


@contextlib.contextmanager
def released(device: torch.device) -> Iterator[None]:
    """Give memory that nobody uses back to the device, also after a failed allocation.

    Parameters
    ----------
    device : torch.device
        Nothing is done for a CPU.
    """
    try:
        yield
    finally:
        if device.type == "cuda":
            gc.collect()
            torch.cuda.empty_cache()


def resident_bytes(device: torch.device) -> int:
    """Return what is allocated on a GPU now, 0 for a CPU.

    Parameters
    ----------
    device : torch.device
        Of this rank.

    Returns
    -------
    int
        Bytes of torch's tensors.
    """
    return torch.cuda.memory_allocated(device) if device.type == "cuda" else 0


def peak_bytes(device: torch.device, before: int, work: BlockWork, x: torch.Tensor) -> int:
    """Return the peak of two steps; the first makes the optimizer's state.

    Parameters
    ----------
    device : torch.device
        Where `work` and `x` are.
    before : int
        `resident_bytes` before the block was built; what it built counts.
    work : BlockWork
        Two of its steps are run, without a reduction.
    x : (n_share, ...) tensor
        Its input, which counts.

    Returns
    -------
    int
        Bytes; for what they are on a CPU see the top of this module.
    """
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
        _step(work, x, 0)
        _step(work, x, 1)
        return torch.cuda.max_memory_allocated(device) - before + x.nbytes
    _step(work, x, 0)
    saved: list[torch.Tensor] = []

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        saved.append(tensor)
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        target = _step(work, x, 1)
    return storage_bytes([*work.kept(), target, *saved], but=x) + x.nbytes


def _step(work: BlockWork, x: torch.Tensor, number: int) -> torch.Tensor:
    target = work.teacher(x)
    work.begin(Round(number, 0, number))
    work.student(x, target)
    work.update()
    return target


def storage_bytes(tensors: Iterable[torch.Tensor], but: torch.Tensor) -> int:
    """Return the bytes of the memory that tensors lie in, shared memory once, that of `but` not.

    Parameters
    ----------
    tensors : iterable of torch.Tensor
        Perhaps views of each other.
    but : torch.Tensor
        Whose memory is left out.

    Returns
    -------
    int
        Of the whole storages.
    """
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
    storages.pop(but.untyped_storage().data_ptr(), None)
    return sum(storages.values())


def limit_bytes(device: torch.device, sharing: int) -> int:
    """Return the memory that a rank may take: its part of the GPU's, or of the host's.

    Parameters
    ----------
    device : torch.device
        Of this rank.
    sharing : int
        Ranks on the GPU or, on a CPU, on the host.

    Returns
    -------
    int
        Bytes, of all that there is, used or not.
    """
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[1]) // sharing
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // sharing
