"""Packages that only some commands need: which extra has what is missing."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from hpc.io.errors import InputError


@contextlib.contextmanager
def extra(what: str, name: str) -> Iterator[None]:
    """Turn a package that the block cannot import into one sentence that says what to install.

    Parameters
    ----------
    what : str
        For whom it is needed; begins the message.
    name : str
        Of our extra that has it.

    Raises
    ------
    InputError : a package is not there, or does not load.
    ImportError : a module of our own does not import.
    """
    try:
        yield
    except ImportError as error:
        package = (error.name or "").partition(".")[0]
        if package == "hpc":
            raise
        broken = (
            "" if isinstance(error, ModuleNotFoundError) else f" (which does not load: {error})"
        )
        raise InputError(
            f"{what} needs {package or 'a package'}{broken}: pip install 'relaycut[{name}]'"
        ) from error
