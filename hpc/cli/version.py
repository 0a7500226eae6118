"""Which program this is: its version, the commit it was checked out at, its files."""

from __future__ import annotations

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

from hpc import __version__
from hpc.cli.shared_options import common_options

FOLDER = Path(__file__).parents[1]
SHORT = 8
"""Digits of a commit in a line."""


def program_digest(folder: Path = FOLDER) -> str:
    """Return what the program's files are, hashed: two checkouts may bear the same version.

    Parameters
    ----------
    folder : of the package `hpc`.

    Returns
    -------
    8 hexadecimal digits of SHA-256 over names and contents of its Python files, as they are now:
    edited ones give others, whatever is committed.
    """
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def commit(checkout: Path = FOLDER.parent) -> str | None:
    """Return the commit that a checkout stands at.

    Its files are read, no git is started: under MPI a process had better start no other.

    Parameters
    ----------
    checkout : its top folder; a worktree or a submodule is one, too.

    Returns
    -------
    40 hexadecimal digits; None where it is no checkout.
    """
    try:
        folder = _git_folder(checkout)
        head = (folder / "HEAD").read_text(encoding="ascii").strip()
        if not head.startswith("ref: "):
            return head
        name, shared = head.removeprefix("ref: "), _shared_folder(folder)
        if (shared / name).is_file():
            return (shared / name).read_text(encoding="ascii").strip()
        for line in (shared / "packed-refs").read_text(encoding="ascii").splitlines():
            if line.endswith(f" {name}"):
                return line.split()[0]
    except (OSError, ValueError):
        pass
    return None


def _git_folder(checkout: Path) -> Path:
    """Return where a checkout's HEAD lies: a worktree's and a submodule's .git is a file."""
    found = checkout / ".git"
    if not found.is_file():
        return found
    return checkout / found.read_text(encoding="utf-8").strip().removeprefix("gitdir: ")


def _shared_folder(folder: Path) -> Path:
    """Return where the branches lie, which all worktrees share."""
    pointer = folder / "commondir"
    return folder / pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else folder


def release() -> str:
    """Return the version in a line.

    Returns
    -------
    '0.1.0 (commit 1a2b3c4d, files 5e6f7a8b)'; without the commit where there is no checkout.
    """
    at = commit()
    known = f"commit {at[:SHORT]}, " if at else ""
    return f"{__version__} ({known}files {program_digest()})"


def version_text() -> str:
    """Return what --version prints.

    Returns
    -------
    Lines: version; commit, where there is a checkout; digest of the files, and where they lie.
    """
    at = commit()
    lines = [f"relaycut {__version__}", *([f"commit {at}"] if at else [])]
    return "\n".join([*lines, f"files {program_digest()} in {FOLDER}"]) + "\n"


class _Print(argparse.Action):
    """Prints the version and ends; what it says is found only then."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *rest: Any) -> None:
        sys.stdout.write(version_text())
        parser.exit()


def add_version(parser: argparse.ArgumentParser) -> None:
    """Add --version.

    Parameters
    ----------
    parser : of a tool, an engine or a command.
    """
    common_options(parser).add_argument(
        "--version",
        action=_Print,
        dest=argparse.SUPPRESS,
        default=argparse.SUPPRESS,
        help="print version, commit and digest of the files, and end",
    )
