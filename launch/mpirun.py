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
    """Return the mpirun that is installed beside this Python, else the one in PATH."""
    beside = Path(python).with_name("mpirun")
    return str(beside) if beside.is_file() else "mpirun"


def flavour_of(version: str) -> str | None:
    """Return the flavour by what ``mpirun --version`` prints, None for one not known."""
    return next((name for name, mark in FLAVOURS.items() if mark in version), None)


def found_flavour(mpirun: str) -> str:
    """Return the flavour of an mpirun.

    Raises
    ------
    InputError : there is none, or it is of an MPI that is not known.
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

    bind : one of BINDINGS. crowded : whether there are fewer cores; then nothing is bound.
    outlived : whether ranks are to outlive each other, which MPICH's cannot.
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
