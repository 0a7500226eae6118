"""Start command lines under mpirun from a serial test, never without a time limit."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from types import MappingProxyType

BANNER = re.compile(
    r"-{60,}\n[\s\S]*?-{60,}\n|^\[[^\]\n]+:\d+\] PMIX ERROR.*\n|^\[warn\] Epoll .*\n"
    r"|^compiling kernels for this host, once\n",
    re.MULTILINE,
)
"""What Open MPI's mpirun adds when a job ends with another code than 0, and what the first run on a
host says."""
ROOT = Path(__file__).parents[1]


def run_alone(*args, timeout=120):
    """Run ``python ARGS`` in the repository and return the finished process."""
    return run_command([sys.executable, *args], timeout)


def run_ranks(size, *args, timeout=120):
    """Run ``mpirun -n SIZE python ARGS`` and return the finished process."""
    mpirun = Path(sys.executable).with_name("mpirun")
    return run_command([mpirun, "-n", size, sys.executable, *args], timeout)


def run_command(command, timeout, environment=MappingProxyType({})):
    """Run any command in the repository, with these variables as well; return what it did."""
    environment = (
        os.environ | {"OMP_NUM_THREADS": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"} | environment
    )
    command = ["timeout", "-s", "TERM", str(timeout), *map(str, command)]
    ran = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    ran.stderr = BANNER.sub("", ran.stderr)
    return ran
