"""Names that a package has, imported when they are first used: neither MPI nor torch before."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def names_of(
    package: str, modules: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` for a package (PEP 562).

    Parameters
    ----------
    package : its name.
    modules : module to the names that are taken from it.

    Returns
    -------
    The two functions.
    """
    source = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name not in source:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(source[name]), name)

    return get, lambda: sorted(source)
