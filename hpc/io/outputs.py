"""Outputs of a command line, checked before the work."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence

from hpc.io.aside import check_writable
from hpc.io.errors import InputError


def check_outputs(options: Mapping[str, object], names: Sequence[str]) -> None:
    """Raise InputError now if an output could not be written later, or would replace a file
    that another option names: an input, or another output.

    Parameters
    ----------
    options : all options by name, as argparse has them.
    names : those that are files to write; None or '-' means none.
    """
    for name in names:
        path = options.get(name)
        if not isinstance(path, str | os.PathLike) or path == "-":
            continue
        if path == "":
            raise InputError(f"--{name.replace('_', '-')}: expected the name of a file to write")
        for other, value in _paths(options):
            if other != name and same_file(path, value):
                option = f"--{name.replace('_', '-')}"
                raise InputError(f"{path}: {option} would replace the file that '{other}' names")
        check_writable(path)


def _paths(options: Mapping[str, object]) -> Iterator[tuple[str, str | os.PathLike[str]]]:
    """Yield name and value of every option that may be a path."""
    for name, value in options.items():
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, str | os.PathLike) and one:
                yield name, one


def same_file(one: str | os.PathLike[str], other: str | os.PathLike[str]) -> bool:
    """Return whether two names are of one file, which need not be there.

    Parameters
    ----------
    one, other : str or path
        Names; links are followed.

    Returns
    -------
    bool
        By the file system where both are there, else by the names.
    """
    try:
        return os.path.samefile(one, other)
    except (OSError, ValueError):  # one of them is not there
        return os.path.realpath(one) == os.path.realpath(other)
