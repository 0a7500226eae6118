"""What program this is: its version, its files, its commit, and what it runs with."""

from __future__ import annotations

import hashlib
import platform
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

import h5py

from hpc import __version__

PACKAGES = ("numpy", "scipy", "mpi4py", "h5py", "numba", "torch")
FOLDER = Path(__file__).parents[1]


def versions() -> dict[str, str]:
    """Return the versions of the program, of Python and of what it uses, as far as it is there.

    Returns
    -------
    dict of str to str
        Name to version.
    """
    found = {"relaycut": f"{__version__} ({program_digest()})", "Python": platform.python_version()}
    found |= {name: metadata.version(name) for name in PACKAGES if find_spec(name)}
    return found | {"HDF5": h5py.version.hdf5_version}


def program_digest() -> str:
    """Return what the program's files are, hashed: two checkouts may bear the same version.

    Returns
    -------
    str
        Eight hexadecimal digits of SHA-256.
    """
    digest = hashlib.sha256()
    for path in sorted(FOLDER.rglob("*.py")):
        digest.update(str(path.relative_to(FOLDER)).encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def commit(checkout: Path = FOLDER.parent) -> str | None:
    """Return the commit that a checkout stands at.

    Parameters
    ----------
    checkout : Path
        Folder that holds .git.

    Returns
    -------
    str or None
        As git has it; None where there is no checkout, or a worktree of another.
    """
    try:
        folder = checkout / ".git"
        head = (folder / "HEAD").read_text(encoding="ascii").strip()
        if not head.startswith("ref: "):
            return head
        name = head.removeprefix("ref: ")
        if (folder / name).is_file():
            return (folder / name).read_text(encoding="ascii").strip()
        for line in (folder / "packed-refs").read_text(encoding="ascii").splitlines():
            if line.endswith(f" {name}"):
                return line.split()[0]
    except (OSError, ValueError):
        pass
    return None
