"""The numba loops compiled for this host, once per host type, however many ranks start at once.

Machine code is kept in a folder of its own for each (processor, versions, source,
dtype). It is made aside and renamed into place, so a rank finds all of it or none,
and ranks that start together wait for the one that compiles.
"""

from __future__ import annotations

import contextlib
import fcntl
import functools
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
import numpy.typing as npt
from llvmlite import binding
from numba import types

from hpc.spdnn import numba_loops, vectors


@dataclass(frozen=True)
class Loops:
    """The compiled functions of `hpc.spdnn.numba_loops` for one dtype.

    widest : columns of the largest tile that stays in this host's registers.
    """

    multiply: Callable[..., None]
    add_transposed: Callable[..., None]
    add_gradient: Callable[..., None]
    add_rows: Callable[..., None]
    widest: int


@functools.cache
def loops(dtype: np.dtype[np.floating]) -> Loops:
    """Return the loops for float32 or float64, from the cache or compiled now (seconds)."""
    base = cache_folder()
    final = base / f"{_key()}-{dtype.name}"
    with _alone(base):
        functions = (_compile if final.is_dir() else _compile_aside)(dtype, final)
    return Loops(**functions, widest=widest_tile(dtype))


def cache_folder() -> Path:
    """Return the folder for compiled code: NUMBA_CACHE_DIR, else the user's cache, else /tmp."""
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    own = Path(tempfile.gettempdir()) / f"relaycut-{os.getuid()}"
    asked = os.environ.get("NUMBA_CACHE_DIR")
    for folder in ([Path(asked)] if asked else []) + [Path(home) / "relaycut", own]:
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            if os.access(folder, os.W_OK):
                return folder
    return Path(tempfile.mkdtemp(prefix="relaycut-"))


def widest_tile(dtype: npt.DTypeLike) -> int:
    """Return the columns whose sums take eight registers, at most 64."""
    features = binding.get_host_cpu_features()
    bits = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    return min(64, 8 * bits // (8 * np.dtype(dtype).itemsize))


def _key() -> str:
    """Return what the machine code depends on, hashed."""
    digest = hashlib.sha256()
    for part in (
        binding.get_host_cpu_name(),
        binding.get_host_cpu_features().flatten(),
        numba.__version__,
        llvmlite.__version__,
        np.__version__,
    ):
        digest.update(part.encode())
    for module in (numba_loops, vectors):
        digest.update(Path(str(module.__file__)).read_bytes())
    return digest.hexdigest()[:16]


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process of this user compile at a time, where the file system can lock."""
    with open(folder / "lock", "a") as file:
        with contextlib.suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _compile_aside(dtype: np.dtype[np.floating], final: Path) -> dict[str, Callable[..., None]]:
    """Compile into a folder of our own and rename it; another's that came first is as good."""
    aside = Path(tempfile.mkdtemp(prefix="compiling-", dir=final.parent))
    try:
        functions = _compile(dtype, aside)
        with contextlib.suppress(OSError):
            aside.rename(final)
    finally:
        shutil.rmtree(aside, ignore_errors=True)
    return functions


def _compile(dtype: np.dtype[np.floating], folder: Path) -> dict[str, Callable[..., None]]:
    """Return the functions, their code read from or written to `folder`."""
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(folder)
    try:
        return {name: _function(name, kinds) for name, kinds in _signatures(dtype).items()}
    finally:
        numba.config.CACHE_DIR = before


def _function(name: str, kinds: tuple[Any, ...]) -> Callable[..., None]:
    made = numba.njit(cache=True, nogil=True, error_model="numpy")(getattr(numba_loops, name))
    made.compile(kinds)
    made.disable_compile()
    compiled: Callable[..., None] = made
    return compiled


def _signatures(dtype: np.dtype[np.floating]) -> dict[str, tuple[Any, ...]]:
    number = types.float32 if dtype == np.float32 else types.float64
    floats, ints, integer = number[::1], types.int32[::1], types.intp
    span = types.UniTuple(integer, 2)
    weights = types.Tuple((ints, ints, floats))
    pattern = types.UniTuple(ints, 3)
    limit = types.float64
    output = types.Tuple((ints, types.uint8[::1], floats, limit, limit, types.boolean))
    panels = (floats, integer)
    return {
        "multiply": (weights, output, *panels, *panels, integer, span, span, integer),
        "add_transposed": (types.UniTuple(ints, 4), floats, floats, floats, integer, span, integer),
        "add_gradient": (pattern, floats, *panels, *panels, integer, span, span),
        "add_rows": (floats, output, *panels, integer, span),
    }
