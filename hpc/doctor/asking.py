"""Asks this rank, its host and its libraries. What is not there is said, never an error."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from mpi4py import MPI

from hpc.comm.abilities import abilities
from hpc.comm.gpu_support import loaded_library
from hpc.comm.launcher import launched
from hpc.doctor.facts import THREAD_VARIABLES, Facts, Gpu
from hpc.io.errors import InputError
from hpc.report.versions import versions
from hpc.spdnn.cache_folder import cache_folders, usable
from hpc.spdnn.kernels import KERNELS

SHM = Path("/dev/shm")


def ask(comm: MPI.Comm) -> Facts:
    """Return what this rank knows. Collective: ranks of a host take its GPUs in turn.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the job.

    Returns
    -------
    Facts
        Of this rank; what is not there is None, empty or said.
    """
    kernels = {name: _objection(name) for name in KERNELS}
    gpu, built = _gpu(comm, not kernels["torch"])
    return Facts(
        rank=comm.rank,
        host=MPI.Get_processor_name(),
        world=comm.size,
        launch=launched(os.environ),
        cores=tuple(sorted(os.sched_getaffinity(0))),
        host_cores=os.cpu_count() or 1,
        threads=threads_of(os.environ),
        mpi=abilities(loaded_library(), os.environ),
        versions=versions(),
        kernels=kernels,
        gpu=gpu,
        host_gpus=sum(1 for path in Path("/dev").glob("nvidia*") if path.name[6:].isdigit()),
        cuda_built=built,
        shm_free=shutil.disk_usage(SHM).free if SHM.is_dir() else None,
        folders={str(path): usable(path) for path in (Path.home(), cache_folders()[0])},
    )


def threads_of(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say how many threads a rank has.

    Parameters
    ----------
    environment : mapping of str to str
        Of the rank.

    Returns
    -------
    dict of str to str
        Of THREAD_VARIABLES those that are set, and not to nothing.
    """
    return {name: environment[name] for name in THREAD_VARIABLES if environment.get(name)}


def _objection(kernel: str) -> str:
    """Return why a kernel cannot be used, '' if it can."""
    try:
        KERNELS[kernel](1)
    except InputError as error:
        return str(error).removeprefix(f"kernel '{kernel}': ").split("; pip install")[0]
    except (ImportError, OSError) as error:
        return f"does not load: {error}"
    return ""


def _gpu(comm: MPI.Comm, torch_loads: bool) -> tuple[Gpu | None, bool | None]:
    """Return the GPU that this rank would take, and whether its torch is built for them."""
    if not comm.allreduce(torch_loads, op=MPI.LAND):
        return None, None
    import torch

    from hpc.comm.devices import place

    device = place(comm, "auto").device
    built = torch.version.cuda is not None
    if device.type == "cpu":
        return None, built
    traits = torch.cuda.get_device_properties(device)
    return Gpu(traits.name, str(getattr(traits, "uuid", device))), built
