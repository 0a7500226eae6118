"""mpirun: whose it is, and its command line. Pure, but for `found_flavour`."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from hpc.io.errors import InputError

FLAVOURS = {"mpich": "HYDRA", "openmpi": "Open MPI"}
"""Flavour: what ``mpirun --version`` says of it."""
BINDINGS = ("core", "none")
SECONDS = 60


def mpirun_path(python: str = sys.executable) -> str:
    """Return the mpirun that is installed beside this Python, else the one in PATH.

    Parameters
    ----------
    python : str
        Path of an interpreter.

    Returns
    -------
    str
        A path, or 'mpirun', which need not be there.
    """
    beside = Path(python).with_name("mpirun")
    return str(beside) if beside.is_file() else "mpirun"


def flavour_of(version: str) -> str | None:
    """Return the flavour of an MPI by what its mpirun says.

    Parameters
    ----------
    version : str
        What ``mpirun --version`` prints.

    Returns
    -------
    str or None
        One of FLAVOURS; None for one that is not known.
    """
    return next((name for name, mark in FLAVOURS.items() if mark in version), None)


def found_flavour(mpirun: str) -> str:
    """Return the flavour of an mpirun, which is asked.

    Parameters
    ----------
    mpirun : str
        A path, or a name in PATH.

    Returns
    -------
    str
        One of FLAVOURS.

    Raises
    ------
    InputError : there is none, it gives no answer in SECONDS, or it is of an MPI that is not known.
    """
    if shutil.which(mpirun) is None:
        raise InputError(f"{mpirun}: not found; install relaycut[mpich] or load the site's MPI")
    try:
        asked = [mpirun, "--version"]
        ran = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{mpirun} --version: {error}") from error
    flavour = flavour_of(ran.stdout + ran.stderr)
    if flavour is None:
        raise InputError(f"{mpirun}: of an unknown MPI, expected {' or '.join(FLAVOURS)}")
    return flavour


def mpirun_options(
    flavour: str,
    ranks: int,
    threads: int,
    bind: str,
    crowded: bool = False,
    outlived: bool = False,
) -> list[str]:
    """Return the options of an mpirun that starts `ranks` of `threads` cores each.

    Parameters
    ----------
    flavour : str
        One of FLAVOURS.
    ranks, threads : int
        How many ranks, and cores of each.
    bind : str
        One of BINDINGS.
    crowded : bool
        Whether there are fewer cores; then nothing is bound.
    outlived : bool
        Whether ranks are to outlive each other, which MPICH's cannot.

    Returns
    -------
    list of str
        To be followed by the program's words.
    """
    bound = bind == "core" and not crowded
    if flavour == "mpich":
        where = ("core" if threads == 1 else f"core:{threads}") if bound else "none"
        return ["-n", str(ranks), "-bind-to", where]
    options = ["-n", str(ranks), "--bind-to", "core" if bound else "none"]
    if outlived:
        options += ["--with-ft", "ulfm"]
    if bound and threads > 1:
        options += ["--map-by", f"slot:PE={threads}"]
    return [*options, "--oversubscribe"] if crowded else options
