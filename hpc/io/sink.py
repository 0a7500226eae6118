"""Where HDF5 writes to: a file that notes its first error and lets HDF5 close in peace.

HDF5 1.14 crashes the process when it closes a file whose disk is full, since it cannot
write what it still holds. Here a write that fails is noted, all later ones are dropped, and
who writes asks afterwards.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_open: list[Sink] = []


class Sink(io.FileIO):
    """A new file for h5py's driver of Python file objects.

    Parameters
    ----------
    path : str or path
        File to write; one that is there is emptied.

    Attributes
    ----------
    error : what the first write that failed raised, or None.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.error: OSError | None = None
        super().__init__(path, "w+")

    def write(self, data: Any) -> int:
        """Write all of it, unless a write has failed.

        Parameters
        ----------
        data : bytes-like
            Contiguous.

        Returns
        -------
        int
            Its bytes, written or not: HDF5 is to go on.
        """
        left = memoryview(data).cast("B")
        size = len(left)
        try:
            while len(left) and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        return size

    def truncate(self, size: int | None = None) -> int:
        """Set the file's length, unless a write has failed.

        Parameters
        ----------
        size : int or None
            Bytes; None: up to the current position.

        Returns
        -------
        int
            The length asked for, reached or not.
        """
        try:
            if self.error is None:
                return super().truncate(size)
        except OSError as error:
            self.error = error
        return self.tell() if size is None else size

    def close(self) -> None:
        """Close; an error of the file system that comes only now is noted as well."""
        try:
            super().close()
        except OSError as error:
            self.error = self.error or error


@contextmanager
def sink(path: str | os.PathLike[str]) -> Iterator[Sink]:
    """Yield a file to write to, and close it.

    Parameters
    ----------
    path : str or path
        File to write.

    Yields
    ------
    Sink
        Which `check_sinks` looks at as long as the block runs.

    Raises
    ------
    OSError : of the first write that failed, where the block itself raises nothing.
    """
    made = Sink(path)
    _open.append(made)
    try:
        yield made
    finally:
        _open.remove(made)
        made.close()
    if made.error is not None:
        raise made.error


def check_sinks() -> None:
    """Raise the OSError of a write that has failed, if any has: the rest need not be made."""
    for one in _open:
        if one.error is not None:
            raise one.error
