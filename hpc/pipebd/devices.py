"""Which device a rank computes on, and how its buffers travel.

Ranks of a host that see the same GPUs (CUDA_VISIBLE_DEVICES, which SLURM sets as well) take
them in turn, by their order on the host; a rank that sees one of its own takes that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from mpi4py import MPI

from hpc.comm import gpu_support
from hpc.comm.buffers import TRANSPORTS, Transport
from hpc.comm.waiting import Waiting
from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.pipebd.cuda_streams import CudaStreams

DEVICES = ("cpu", "cuda", "auto")


@dataclass(frozen=True)
class Placement:
    """Where a rank computes. sharing : ranks on the same GPU, this one included; 1 on CPUs."""

    device: torch.device
    sharing: int = 1


def assign(visible: Sequence[tuple[str, ...]]) -> list[int]:
    """Return for each rank of a host which of the GPUs that it sees it takes. Pure.

    visible : per rank, in order, the names of the GPUs that it sees, at least one.
    """
    return [
        sum(earlier == mine for earlier in visible[:place]) % len(mine)
        for place, mine in enumerate(visible)
    ]


def place(comm: MPI.Comm, asked: str) -> Placement:
    """Return this rank's device and make it the current one. Collective.

    Parameters
    ----------
    asked : one of DEVICES; auto is cuda where every rank sees a GPU.

    Raises
    ------
    InputError : (on all ranks) another name; cuda on a rank that sees no GPU.
    """
    with together(comm):
        visible = _visible(asked)
        if asked == "cuda" and not visible:
            reason = "this build of torch has none" if not torch.version.cuda else "none is visible"
            raise InputError(f"--device cuda: rank {comm.rank} has no CUDA device ({reason})")
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


def choose_transport(comm: MPI.Comm, asked: str, device: torch.device) -> tuple[str, str]:
    """Return the transport in force and why. Collective.

    Parameters
    ----------
    asked : auto or one of TRANSPORTS; the latter is taken at its word.

    Raises
    ------
    InputError : (on all ranks) another name, or one that does not go with the device.
    """
    with together(comm):
        _check_transport(asked, device)
    if asked != "auto":
        return asked, "as asked for"
    if device.type == "cpu":
        return "host", "buffers are in host memory"
    objections = list(filter(None, comm.allgather(_objection(device))))
    if objections:
        return "staged", objections[0]
    return "cuda-aware", "the MPI library says so and the probe worked"


def _check_transport(asked: str, device: torch.device) -> None:
    if asked != "auto" and asked not in TRANSPORTS:
        raise InputError(f"unknown transport {asked!r}; expected auto, {', '.join(TRANSPORTS)}")
    if asked != "auto" and (asked == "host") != (device.type == "cpu"):
        fitting = "auto or host" if device.type == "cpu" else "auto, staged or cuda-aware"
        raise InputError(f"--transport {asked} with device {device.type}; expected {fitting}")


def _objection(device: torch.device) -> str | None:
    """Return why MPI cannot be given device pointers here, or None."""
    says = gpu_support.switched(os.environ)
    if says is None:
        says = gpu_support.library_support(gpu_support.loaded_library())
    if not says:
        return "the MPI library is not CUDA-aware"
    return gpu_support.probe([sys.executable, "-m", "hpc.pipebd.cuda_probe", str(device.index)])


def make_transport(name: str, device: torch.device, waiting: Waiting | None = None) -> Transport:
    """Return a rank's transport. name : see `choose_transport`."""
    return Transport(name, None if name == "host" else CudaStreams(device), waiting)


def describe(comm: MPI.Comm, placement: Placement, transport: str, why: str) -> list[str]:
    """Return, on rank 0, lines on devices and transport, warnings included. Collective."""
    device = placement.device
    named = torch.cuda.get_device_name(device) if device.type == "cuda" else "CPU"
    everybody = comm.gather((f"{device} ({named})" if named != "CPU" else named, placement.sharing))
    if everybody is None:
        return []
    names = [name for name, _ in everybody]
    shown = names[0] if len(set(names)) == 1 else ", ".join(names)
    lines = [f"device     {shown}", f"transport  {transport}: {why}"]
    most = max(sharing for _, sharing in everybody)
    if most > 1:
        lines.append(f"warning    up to {most} ranks share a GPU: they take turns on it")
    return lines
