"""Whether MPI takes device pointers: what the environment, the loaded library and a probe say."""

from __future__ import annotations

import ctypes
import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

CUDA = 0
"""MPIX_GPU_SUPPORT_CUDA of MPICH."""
SWITCHES = ("MPICH_GPU_SUPPORT_ENABLED", "MV2_USE_CUDA")
"""Variables by which Cray MPICH and MVAPICH switch it on or off."""
LAUNCHER_PREFIXES = ("PMI", "OMPI_", "PRTE_", "HYDRA_", "HYDI_", "MPI_LOCAL", "SLURM_")
"""Beginnings of the variables by which a launched process finds its job."""
PROBE_S = 60.0
"""Seconds after which a probe has failed."""


def switched(environment: Mapping[str, str]) -> bool | None:
    """Return what the environment says of CUDA support.

    Parameters
    ----------
    environment : mapping of str to str
        Of this process; of SWITCHES the first that is there counts.

    Returns
    -------
    bool or None
        Whether it is '1'; None where none is there.
    """
    found = [environment[name] for name in SWITCHES if name in environment]
    return found[0] == "1" if found else None


def library_support(library: object | None) -> bool | None:
    """Return what a loaded MPI library says of CUDA.

    Parameters
    ----------
    library : object or None
        See `loaded_library`; MPICH's and Open MPI's own functions are looked for.

    Returns
    -------
    bool or None
        None where it has neither, or there is no library.
    """
    if hasattr(library, "MPIX_GPU_query_support"):  # MPICH
        flag = ctypes.c_int(0)
        failed = library.MPIX_GPU_query_support(CUDA, ctypes.byref(flag))
        return not failed and bool(flag.value)
    if hasattr(library, "MPIX_Query_cuda_support"):  # Open MPI
        return bool(library.MPIX_Query_cuda_support())
    return None


def loaded_library() -> ctypes.CDLL | None:
    """Return the MPI library of this process, after MPI is loaded.

    Returns
    -------
    ctypes.CDLL or None
        By /proc/self/maps; None where it is not found there.
    """
    maps = Path("/proc/self/maps")
    lines = maps.read_text(encoding="utf-8").splitlines() if maps.exists() else []
    paths = [line.split(maxsplit=5)[-1] for line in lines if "/" in line]
    for path in dict.fromkeys(paths):
        if Path(path).name.startswith(("libmpi.", "libmpich.", "libmpi_", "libmpi-")):
            return ctypes.CDLL(path)
    return None


def outside_job(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that is to be no rank of this job.

    Parameters
    ----------
    environment : mapping of str to str
        Of this process.

    Returns
    -------
    dict of str to str
        A copy without what launchers have set (LAUNCHER_PREFIXES).
    """
    return {k: v for k, v in environment.items() if not k.startswith(LAUNCHER_PREFIXES)}


def probe(command: Sequence[str], timeout_s: float = PROBE_S) -> str | None:
    """Run a program that sends from and receives into device memory.

    In a process of its own, as a library that takes the pointer for one of the host crashes.

    Parameters
    ----------
    command : sequence of str
        The program and its arguments; it gets the environment of no rank.
    timeout_s : float
        Seconds after which it is killed and has failed.

    Returns
    -------
    str or None
        None if it ends well; else why not, in a few words.
    """
    try:
        done = subprocess.run(
            command,
            env=outside_job(os.environ),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"the probe failed ({type(error).__name__})"
    if done.returncode == 0:
        return None
    last = (done.stderr.strip().splitlines() or [""])[-1]
    return f"the probe ended with code {done.returncode} {last}".rstrip()
