"""Which device a rank computes on.

Ranks of a host that see the same GPUs (CUDA_VISIBLE_DEVICES, which SLURM sets as well) take
them in turn, by their order on the host; a rank that sees one of its own takes that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from mpi4py import MPI

from hpc.comm.option_values import DEVICES
from hpc.comm.world import together
from hpc.io.errors import InputError


@dataclass(frozen=True)
class Placement:
    """Where a rank computes. sharing : ranks on the same GPU, this one included; 1 on CPUs."""

    device: torch.device
    sharing: int = 1


def assign(visible: Sequence[tuple[str, ...]]) -> list[int]:
    """Return for each rank of a host which of the GPUs that it sees it takes. Pure.

    Parameters
    ----------
    visible : sequence of tuple of str
        Per rank, in order, the names of the GPUs that it sees, at least one.

    Returns
    -------
    list of int
        Per rank an index into its own tuple; ranks that see the same ones take them in turn.
    """
    return [
        sum(earlier == mine for earlier in visible[:place]) % len(mine)
        for place, mine in enumerate(visible)
    ]


def place(comm: MPI.Comm, asked: str) -> Placement:
    """Return this rank's device and make it the current one. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the job.
    asked : str
        One of DEVICES, the same on all; 'auto' is 'cuda' where every rank sees a GPU.

    Returns
    -------
    Placement
        The device, and how many ranks share it.

    Raises
    ------
    AgreedError : on all ranks: another name; cuda on a rank that sees no GPU.
    """
    with together(comm):
        visible = _visible(asked)
        if asked == "cuda" and not visible:
            reason = "none is visible: take a node with GPUs (nvidia-smi lists them)"
            if not torch.version.cuda:
                reason = "this build of torch has none: install one for CUDA (see pytorch.org)"
            raise InputError(
                f"--device cuda: rank {comm.rank} has no CUDA device ({reason}), or leave "
                "--device cuda out"
            )
    if not comm.allreduce(bool(visible), op=MPI.LAND):
        return Placement(torch.device("cpu"))
    host = comm.Split_type(MPI.COMM_TYPE_SHARED)
    everybody = host.allgather(visible)
    taken = assign(everybody)
    mine = everybody[host.rank][taken[host.rank]]
    sharing = sum(names[index] == mine for names, index in zip(everybody, taken, strict=True))
    device = torch.device("cuda", taken[host.rank])
    host.Free()
    torch.cuda.set_device(device)
    return Placement(device, sharing)


def _visible(asked: str) -> tuple[str, ...]:
    """Return the names, unique on the host, of the GPUs that this rank may take."""
    if asked not in DEVICES:
        raise InputError(f"unknown device {asked!r}; expected {', '.join(DEVICES)}")
    if asked == "cpu" or not torch.cuda.is_available():
        return ()
    properties = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    return tuple(str(getattr(one, "uuid", one)) for one in properties)
