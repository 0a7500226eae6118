"""Which kernel the ranks multiply with, and on which device: agreed on by all."""

from __future__ import annotations

from importlib.util import find_spec

from mpi4py import MPI

from hpc.comm.option_values import DEVICES
from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.spdnn.kernels import Kernel, kernel
from hpc.spdnn.option_values import kernels


def choose_kernel(comm: MPI.Comm, name: str, device: str, threads: int = 1) -> Kernel:
    """Return this rank's kernel, the same on all ranks but for the number of its GPU. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        All ranks of the run.
    name : str
        See `kernels.kernel`; on a GPU 'auto' is torch.
    device : str
        'cpu'; 'cuda'; or 'auto', which is cuda where every rank has a GPU, if the name allows.
    threads : int
        Of each rank, on the CPU.

    Returns
    -------
    Kernel
        A TorchKernel where GPUs are used.

    Raises
    ------
    AgreedError : on all ranks: unknown names, names that do not go together, what is not
        installed, cuda on a rank without.
    """
    with together(comm):
        check_choice(name, device)
        if device == "cuda" and not find_spec("torch"):
            raise InputError("--device cuda: needs torch; pip install 'relaycut[pipebd]'")
    if _may_use_gpus(comm, name, device):
        from hpc.comm.devices import place
        from hpc.spdnn.torch_kernel import TorchKernel

        placement = place(comm, device)
        if placement.device.type == "cuda":
            return TorchKernel(placement.device)
    with together(comm):
        return kernel(name, threads)


def check_choice(name: str, device: str) -> None:
    """Raise InputError for an unknown kernel or device, or two that do not go together. Pure.

    Parameters
    ----------
    name, device : str
        As `choose_kernel` takes them.

    Raises
    ------
    InputError : lists the valid ones.
    """
    if name not in kernels():
        raise InputError(f"kernel '{name}': expected one of {', '.join(kernels())}")
    if device not in DEVICES:
        raise InputError(f"--device {device}: expected one of {', '.join(DEVICES)}")
    if device == "cuda" and name not in ("auto", "torch"):
        raise InputError(
            f"--device cuda: kernel '{name}' computes on the CPU; leave --kernel out or take torch"
        )


def _may_use_gpus(comm: MPI.Comm, name: str, device: str) -> bool:
    """Return whether to look for GPUs; `place` then decides for all ranks together."""
    if device == "cpu" or name not in ("auto", "torch"):
        return False
    return bool(comm.allreduce(find_spec("torch") is not None, op=MPI.LAND))
