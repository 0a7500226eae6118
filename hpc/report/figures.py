"""Figures for machines (--json) and quantities for people."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any

from hpc.io.aside import written_aside


def write_json(path: str | os.PathLike[str], figures: Mapping[str, Any]) -> None:
    """Write figures as JSON, aside and renamed; NaN and infinity, which JSON lacks, as null.

    Parameters
    ----------
    path : of the file.
    figures : plain data.

    Raises
    ------
    InputError : the file cannot be written.
    """
    text = json.dumps(finite(figures), indent=2, allow_nan=False)
    with written_aside(path) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def finite(value: Any) -> Any:
    """Return plain data with None for numbers that JSON does not have.

    Parameters
    ----------
    value : a number, a text, None, or lists, tuples and dictionaries of such.

    Returns
    -------
    The same, tuples as lists.
    """
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [finite(one) for one in value]
    return value


def quantity(value: float, unit: str) -> str:
    """Return a value with three digits and a prefix: 12300000000, 'edges/s' -> '12.3 Gedges/s'.

    Parameters
    ----------
    value : float
        In `unit`.
    unit : str
        Gets the prefix.

    Returns
    -------
    str
        Number and unit, a space between them.
    """
    for factor, prefix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{value / factor:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def table(head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return an aligned text table: first column to the left, the others to the right.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : sequence of sequences
        As long as the head; shown by `str`.

    Returns
    -------
    str
        The head and a line for each row.
    """
    cells = [list(map(str, head)), *(list(map(str, row)) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        first, rest = row[0].ljust(widths[0]), zip(row[1:], widths[1:], strict=True)
        lines.append("  ".join([first, *(cell.rjust(width) for cell, width in rest)]).rstrip())
    return "\n".join(lines)
