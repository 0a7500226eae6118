"""MPI is started here, once it is clear that this launcher can start it."""

from __future__ import annotations

import ctypes
import os
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from hpc.comm import gpu_support
from hpc.comm.foreign_launcher import advice, alone, stranded
from hpc.comm.launcher import launched, launched_rank
from hpc.io.errors import EXIT_BAD_INPUT

if TYPE_CHECKING:
    from mpi4py import MPI

HEADSTART_S = 1.0
"""What the first process has to say why before the others end: launchers then end all."""


def start_mpi() -> tuple[MPI.Intracomm, str | None]:
    """Start MPI; return COMM_WORLD and what is wrong with the launcher, if anything is. Collective.

    Where the launcher would make MPI end the process, this does so instead; see
    `end_for_launcher`.

    Returns
    -------
    world : MPI.Intracomm
        COMM_WORLD; of this process alone under a launcher of another MPI.
    wrong : str or None
        `advice` where this is one of several processes and MPI sees no other; else None.

    Raises
    ------
    SystemExit : with code 2, after saying why: no mpi4py or no MPI, or an MPI that the launcher
        cannot start.
    """
    try:
        import mpi4py

        mpi4py.rc(initialize=False, finalize=True)
        from mpi4py import MPI
    except (ImportError, RuntimeError) as error:
        end_for_launcher(launched_rank(), no_mpi(error))
    if not MPI.Is_initialized():
        launch = launched(os.environ)
        if launch and stranded(launch, MPI.get_vendor()[0], _knows_pmix()):
            end_for_launcher(launch.rank, advice(launch, library_name(), _mpirun()))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "suspicious MPI")
            _initialize()
        from hpc.comm.segments import unname_segments

        unname_segments(MPI.COMM_WORLD)
    return MPI.COMM_WORLD, foreign_launcher()


def _initialize() -> None:
    """Initialize MPI as mpi4py does, but without the interpreter's lock.

    Under that lock, which mpi4py keeps, the thread that ends a process on a signal could not run
    while this rank waits here for one that has ended already.
    """
    from mpi4py import MPI

    library = gpu_support.loaded_library()
    if library is None:
        MPI.Init_thread()
        return
    provided = ctypes.c_int()
    if library.MPI_Init_thread(None, None, MPI.THREAD_MULTIPLE, ctypes.byref(provided)):
        raise RuntimeError("MPI_Init_thread failed")
    for comm in (MPI.COMM_SELF, MPI.COMM_WORLD):
        comm.Set_errhandler(MPI.ERRORS_RETURN)


def foreign_launcher() -> str | None:
    """Return what is wrong with the launcher. MPI has started.

    Returns
    -------
    In one sentence that several processes were started of which each sees no other, and what to
    do; None where nothing is wrong.
    """
    from mpi4py import MPI

    launch = launched(os.environ)
    if launch is not None and alone(launch, MPI.COMM_WORLD.size):
        return advice(launch, library_name(), _mpirun())
    return None


def no_mpi(error: ImportError | RuntimeError) -> str:
    """Return in one sentence why there is no MPI and what to do. Pure.

    Parameters
    ----------
    error : ImportError or RuntimeError
        What importing mpi4py has raised.

    Returns
    -------
    str
        Why, ': ', what to do.
    """
    if isinstance(error, ModuleNotFoundError) and error.name == "mpi4py":
        return (
            "mpi4py is not installed: pip install 'relaycut[mpich]', or on a cluster load the "
            "site's MPI (module load ...) and pip install mpi4py"
        )
    why = str(error).strip().splitlines() or [type(error).__name__]
    return (
        f"mpi4py finds no MPI library ({why[0].strip()}): load the site's MPI (module load ...), "
        "or pip install 'relaycut[mpich]'"
    )


def end_for_launcher(rank: int, wrong: str) -> NoReturn:
    """End one of several processes that cannot join, with exit code 2; the first says why.

    Parameters
    ----------
    rank : int
        By the launcher; all but 0 wait HEADSTART_S seconds before they end.
    wrong : str
        Why, in one sentence.

    Raises
    ------
    SystemExit : always.
    """
    if rank == 0:
        print(f"hpc: error: {wrong}", file=sys.stderr, flush=True)
    else:
        time.sleep(HEADSTART_S)
    sys.exit(EXIT_BAD_INPUT)


def library_name() -> str:
    """Return the MPI library that mpi4py uses.

    Returns
    -------
    str
        Vendor and version, 'MPICH 5.0.2'.
    """
    from mpi4py import MPI

    vendor, version = MPI.get_vendor()
    return f"{vendor} {'.'.join(map(str, version))}"


def _knows_pmix() -> bool:
    return hasattr(gpu_support.loaded_library(), "PMIx_Init")


def _mpirun() -> Path | None:
    """Return the mpirun beside the library, or beside this Python."""
    library = gpu_support.loaded_library()
    beside = [Path(library._name).parents[1] / "bin"] if library else []
    for folder in [*beside, Path(sys.executable).parent]:
        if (folder / "mpirun").exists():
            return folder / "mpirun"
    return None
