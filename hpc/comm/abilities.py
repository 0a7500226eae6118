"""What the loaded MPI library can do, asked of the library itself."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass

from mpi4py import MPI

from hpc.comm.gpu_support import library_support, switched
from hpc.comm.mpi_start import library_name

LEVELS = {
    MPI.THREAD_SINGLE: "single",
    MPI.THREAD_FUNNELED: "funneled",
    MPI.THREAD_SERIALIZED: "serialized",
    MPI.THREAD_MULTIPLE: "multiple",
}
TRUE = ("1", "yes", "true", "on", "enable", "enabled", "y", "t")


@dataclass(frozen=True)
class Abilities:
    """Of an MPI library as it was started.

    vendor : 'MPICH'. library : 'MPICH 5.0.2'. standard : '5.0'. threads : level in force.
    cuda_aware : None where it cannot be asked. large_counts : more than 2³¹−1 numbers a message.
    survives : whether ranks may go on after a death (ULFM): 'yes', 'no', 'not switched on'.
    yields : whether a rank that waits gives its core to others; None where that is unknown.
    """

    vendor: str
    library: str
    standard: str
    threads: str
    cuda_aware: bool | None
    large_counts: bool
    survives: str
    yields: bool | None


def abilities(library: ctypes.CDLL | None, environment: Mapping[str, str]) -> Abilities:
    """Return what MPI, which has been started, can do.

    Parameters
    ----------
    library : ctypes.CDLL or None
        The loaded library, see `loaded_library`; None: what only it could say is None or no.
    environment : mapping of str to str
        Of this process; a switch for CUDA there counts more than what the library says.

    Returns
    -------
    Abilities
        Of the library in this process.
    """
    vendor = MPI.get_vendor()[0]
    asked = switched(environment)
    return Abilities(
        vendor,
        library_name(),
        ".".join(map(str, MPI.Get_version())),
        LEVELS[MPI.Query_thread()],
        library_support(library) if asked is None else asked,
        hasattr(library, "MPI_Send_c"),
        _survives(vendor, library),
        yields(vendor, library, environment),
    )


def yields(vendor: str, library: object | None, environment: Mapping[str, str]) -> bool | None:
    """Return whether a rank that waits lets others run on its core.

    Parameters
    ----------
    vendor : str
        As mpi4py has it: 'MPICH', 'Open MPI'.
    library : object or None
        The loaded library, whose variable is read; Open MPI's only.
    environment : mapping of str to str
        Of this process; MPICH's switch is there.

    Returns
    -------
    bool or None
        None for other vendors, and where Open MPI's library does not show its variable.
    """
    if vendor == "MPICH":
        return environment.get("MPIR_CVAR_ENABLE_HEAVY_YIELD", "").lower() in TRUE
    if vendor == "Open MPI":
        return _flag(library, "opal_progress_yield_when_idle")
    return None


def _survives(vendor: str, library: object | None) -> str:
    """Return whether ULFM can be used: MPICH has its functions, but they do not work."""
    if vendor != "Open MPI" or not hasattr(library, "MPIX_Comm_shrink"):
        return "no"
    return "yes" if _flag(library, "ompi_ftmpi_enabled") else "not switched on"


def _flag(library: object | None, name: str) -> bool | None:
    """Return a variable of the library, None where it has none of that name."""
    if not isinstance(library, ctypes.CDLL):
        return None
    try:
        return ctypes.c_bool.in_dll(library, name).value
    except ValueError:
        return None
