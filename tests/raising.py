"""Run ``hpc`` with a function that raises on one rank, when it is called for the nth time.

python -m tests.raising MODULE:NAME RANK TIMES spdnn train ...
"""

from __future__ import annotations

import functools
import importlib
import itertools
import re
import runpy
import sys
import time

from hpc.comm.launcher import launched_rank
from tests.launching import run_ranks

OVER_S = 10
"""A job must be over in less."""
TEXT = "made by a test at "


def patch(place, rank, times):
    """Let a function of a module or class raise on a rank."""
    module, _, name = place.partition(":")
    owner = importlib.import_module(module)
    *owners, name = name.split(".")
    for part in owners:
        owner = getattr(owner, part)
    whole, calls = getattr(owner, name), itertools.count(1)

    @functools.wraps(whole)
    def raising(*args, **options):
        if next(calls) == times:
            raise RuntimeError(f"{TEXT}{time.time()}")
        return whole(*args, **options)

    if launched_rank() == rank:
        setattr(owner, name, raising)


def check_raised(place, rank, times, size, words):
    """Run a command in which one rank raises: all end soon, one says where, the code is 1."""
    ran = run_ranks(size, "-m", "tests.raising", place, rank, times, *words)
    over = time.time()
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert ran.stderr.count("Traceback (most recent call last)") == 1, ran.stderr
    assert re.search(rf"\[rank {rank} on \S+\] uncaught exception", ran.stderr), ran.stderr
    (began,) = re.findall(rf"RuntimeError: {TEXT}([\d.]+)", ran.stderr)
    assert over - float(began) < OVER_S


if __name__ == "__main__":
    place, rank, times, *words = sys.argv[1:]
    patch(place, int(rank), int(times))
    sys.argv[1:] = words
    runpy.run_module("hpc", run_name="__main__", alter_sys=True)
