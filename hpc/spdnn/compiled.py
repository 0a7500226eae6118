"""The numba loops compiled for this host, once per host type, however many ranks start at once.

Machine code is kept in a folder of its own for each (source, dtype, processor,
versions). It is made aside and renamed into place, so a rank finds all of it or none.
Ranks that find it wait for nobody; those that start together without it wait for the
one that compiles it, by a lock of this code's own.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import importlib
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import llvmlite
import numba
import numpy as np
from llvmlite import binding

from hpc.spdnn.cache_folder import cache_folder

Functions = dict[str, Callable[..., None]]


@functools.cache
def loops(module_name: str, dtype: np.dtype[np.floating]) -> SimpleNamespace:
    """Return a module's loops for float32 or float64, from the cache or compiled now (seconds).

    The module has `signatures(dtype)`: the argument types of each of its loops, by name.

    Parameters
    ----------
    module_name : str
        As imported, such as ``hpc.spdnn.numba_loops``.
    dtype : numpy.dtype
        float32 or float64.

    Returns
    -------
    SimpleNamespace
        The compiled loops by name; the same object at every call.
    """
    module = importlib.import_module(module_name)
    final = _folder(module, dtype)
    if _is_whole(final, module, dtype):
        return SimpleNamespace(**_compile(module, dtype, final))
    with _alone(final.with_name(f"{final.name}.lock")):
        functions = (_compile if final.is_dir() else _compile_aside)(module, dtype, final)
    return SimpleNamespace(**functions)


def is_compiled(module_name: str, dtype: np.dtype[np.floating]) -> bool:
    """Return whether `loops` of the same arguments finds its code in the cache.

    Parameters
    ----------
    module_name : str
        As imported.
    dtype : numpy.dtype
        float32 or float64.

    Returns
    -------
    bool
        Whether the folder of this host has an index and code for every loop.
    """
    module = importlib.import_module(module_name)
    return _is_whole(_folder(module, dtype), module, dtype)


def _folder(module: ModuleType, dtype: np.dtype[np.floating]) -> Path:
    """Return where a module's machine code lies, once it is compiled."""
    return cache_folder() / f"{module.__name__.rsplit('.', 1)[1]}-{dtype.name}-{_key(module)}"


def _is_whole(folder: Path, module: ModuleType, dtype: np.dtype[np.floating]) -> bool:
    """Return whether every loop's index and code lie in the folder: some may have been deleted."""
    return len(list(folder.glob("*/*.nb[ic]"))) >= 2 * len(module.signatures(dtype))


def _key(module: ModuleType) -> str:
    """Return what the machine code depends on, hashed."""
    digest = hashlib.sha256()
    for part in (
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
        str(sys.implementation.cache_tag),
        str(module.__file__),  # numba looks for code by the path of its source
    ):
        digest.update(part.encode())
    for name in sorted({module.__name__, *_sources(module)}):
        digest.update(Path(str(sys.modules[name].__file__)).read_bytes())
    return digest.hexdigest()[:16]


def _sources(module: ModuleType) -> set[str]:
    """Return the modules of ours that a module takes names from, and theirs."""
    found = {getattr(value, "__module__", None) or "" for value in vars(module).values()}
    ours = {name for name in found if name.startswith("hpc.") and name != module.__name__}
    return ours.union(*(_sources(sys.modules[name]) for name in ours))


@contextlib.contextmanager
def _alone(lock: Path) -> Iterator[None]:
    """Let one process at a time compile what `lock` is for, where the file system can lock."""
    with open(lock, "a") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile_aside(module: ModuleType, dtype: np.dtype[np.floating], final: Path) -> Functions:
    """Compile into a folder of our own and rename it; another's that came first is as good."""
    aside = Path(tempfile.mkdtemp(prefix="compiling-", dir=final.parent))
    try:
        functions = _compile(module, dtype, aside)
        with contextlib.suppress(OSError):
            aside.rename(final)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return functions


def _compile(module: ModuleType, dtype: np.dtype[np.floating], folder: Path) -> Functions:
    """Return the loops, their code read from `folder`, or compiled and written there."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        kinds = module.signatures(dtype)
        return {name: _function(getattr(module, name), kind) for name, kind in kinds.items()}
    finally:
        numba.config.CACHE_DIR = before


def _function(loop: Callable[..., None], kind: tuple[Any, ...]) -> Callable[..., None]:
    made = numba.njit(cache=True, nogil=True, error_model="numpy")(loop)
    made.compile(kind)
    made.disable_compile()
    compiled: Callable[..., None] = made
    return compiled
