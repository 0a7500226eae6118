"""What program this is, and what it runs with."""

from __future__ import annotations

import platform
from importlib import metadata
from importlib.util import find_spec

import h5py

from hpc.cli.version import release

PACKAGES = ("numpy", "scipy", "mpi4py", "h5py", "numba", "torch")


def versions() -> dict[str, str]:
    """Return the versions of the program, of Python and of what it uses, as far as it is there.

    Returns
    -------
    dict of str to str
        Name to version.
    """
    found = {"relaycut": release(), "Python": platform.python_version()}
    found |= {name: metadata.version(name) for name in PACKAGES if find_spec(name)}
    return found | {"HDF5": h5py.version.hdf5_version}
