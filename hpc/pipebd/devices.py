"""How the buffers of ranks travel between their devices."""

from __future__ import annotations

import os
import sys

import torch
from mpi4py import MPI

from hpc.comm import gpu_support
from hpc.comm.buffers import Transport
from hpc.comm.devices import Placement
from hpc.comm.option_values import TRANSPORTS
from hpc.comm.waiting import Waiting
from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.pipebd.cuda_streams import CudaStreams


def choose_transport(comm: MPI.Comm, asked: str, device: torch.device) -> tuple[str, str]:
    """Return the transport in force and why. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    asked : str
        auto or one of TRANSPORTS; the latter is taken at its word.
    device : torch.device
        Of this rank; of the same type on all.

    Returns
    -------
    name : str
        One of TRANSPORTS, the same on all ranks: with auto `cuda-aware` only where that works on
        every rank.
    why : str
        For the user.

    Raises
    ------
    AgreedError : on all ranks: another name, or one that does not go with the device.
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
    """Return a rank's transport. Local.

    Parameters
    ----------
    name : str
        See `choose_transport`.
    device : torch.device
        Of this rank; its current stream becomes the main one.
    waiting : Waiting, optional
        How the rank waits; `Yielding` unless given.

    Returns
    -------
    Transport
        Without links.
    """
    return Transport(name, None if name == "host" else CudaStreams(device), waiting)


def describe(comm: MPI.Comm, placement: Placement, transport: str, why: str) -> list[str]:
    """Return, on rank 0, lines on devices and transport, warnings included. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    placement : Placement
        Of this rank.
    transport, why : str
        See `choose_transport`.

    Returns
    -------
    list of str
        Empty on other ranks.
    """
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
