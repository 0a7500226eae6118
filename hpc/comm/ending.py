"""How a process ends by itself so that the launcher and its peers notice."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from typing import NoReturn

SWITCH = "OMPI_MCA_mpi_ft_enable"
"""What Open MPI's ``mpirun --with-ft ulfm`` sets for its ranks."""


def outlived() -> bool:
    """Return whether the launcher lets the others go on when a rank is gone.

    Returns
    -------
    bool
        By the environment of this process.
    """
    return os.environ.get(SWITCH, "").lower() in ("1", "true", "yes")


def end_by_signal(number: int) -> NoReturn:
    """End this process because of a signal, from any thread.

    With exit code 128 + number; but by the signal itself as long as MPI has not started, since
    MPICH's mpirun then takes no notice of a rank that exits, and the others would wait for it.

    Parameters
    ----------
    number : int
        Of a signal that by default ends a process.
    """
    mpi = sys.modules.get("mpi4py.MPI")
    if mpi is None or not mpi.Is_initialized():
        ctypes.CDLL(None).signal(number, None)  # Python's may be called in the main thread only
        os.kill(os.getpid(), number)
    end_process(128 + number)


def end_process(code: int) -> NoReturn:
    """End this process at once, with an exit code.

    Where ranks are outlived nobody is told of one that ends with an exit code, whatever it is,
    nor by `MPI_Abort`: the others would wait for it for ever. There a signal ends it.

    Parameters
    ----------
    code : int
        Exit code; lost where ranks are outlived.
    """
    if outlived():
        os.kill(os.getpid(), signal.SIGKILL)
    os._exit(code)
