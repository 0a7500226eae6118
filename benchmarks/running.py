"""What every benchmark shares: run our commands, describe the machine, keep results."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
WRITTEN = ROOT / "build" / "benchmarks"
"""Where results go; those that the documentation shows are copied to benchmarks/results."""
MPIRUN = Path(sys.executable).with_name("mpirun")


def run(*command: object, ranks: int = 0) -> str:
    """Run ``python COMMAND``, under mpirun where ranks > 0; return what it prints."""
    line = [sys.executable, *map(str, command)]
    if ranks:
        line = [str(MPIRUN), "-n", str(ranks), *line]
    ran = subprocess.run(
        line, cwd=ROOT, env=os.environ | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True
    )
    if ran.returncode:
        raise SystemExit(f"{' '.join(line)}\n{ran.stdout}{ran.stderr}")
    return ran.stdout


def figures(path: Path, *command: object, ranks: int = 0) -> dict[str, Any]:
    """Run a command with ``--json PATH`` and return its figures."""
    run(*command, "--json", path, ranks=ranks)
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def ratio(seconds: dict[str, list[float]], slow: str, fast: str) -> float:
    """Return the median over the rounds of slow / fast."""
    return median(a / b for a, b in zip(seconds[slow], seconds[fast], strict=True))


def machine() -> str:
    """Return one line on the machine."""
    names = [
        line.split(":", 1)[1].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    cpu = names[0] if names else platform.processor()
    return f"{len(os.sched_getaffinity(0))} cores of {cpu}, Python {platform.python_version()}"


def keep(name: str, results: dict[str, Any]) -> None:
    """Write results to build/benchmarks/NAME.json with the machine they come from."""
    WRITTEN.mkdir(parents=True, exist_ok=True)
    text = json.dumps({"machine": machine(), **results}, indent=2) + "\n"
    (WRITTEN / f"{name}.json").write_text(text)
