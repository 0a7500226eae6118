"""Which format an export is written in: the one asked for, or that of the suffix. Pure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from hpc.io.errors import InputError


@dataclass(frozen=True)
class ExportFormats:
    """The formats of an export.

    Attributes
    ----------
    names : of all.
    suffixes : format by suffix.
    expected : the suffixes in words.
    """

    names: tuple[str, ...]
    suffixes: Mapping[str, str]
    expected: str

    def format_of(self, to: str | os.PathLike[str], form: str | None) -> str:
        """Return the format asked for, or that of a suffix.

        Parameters
        ----------
        to : where to write.
        form : one of `names`; None: by the suffix.

        Returns
        -------
        One of `names`.

        Raises
        ------
        InputError : neither is known.
        """
        if form is None:
            suffix = Path(to).suffix
            if suffix not in self.suffixes:
                raise InputError(
                    f"{to}: suffix '{suffix}' names no format; expected {self.expected}, "
                    f"or --format {'|'.join(self.names)}"
                )
            return self.suffixes[suffix]
        if form not in self.names:
            raise InputError(f"--format {form}: expected one of {', '.join(self.names)}")
        return form
