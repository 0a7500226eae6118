"""The examples of --help: every command has one, and each does what it says."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from hpc.cli.tree import commands, subcommands
from tests.cli.newcomer import make
from tests.cli.tools import PARSERS
from tests.launching import ROOT, run_ranks  # noqa: F401 - names a module that starts mpirun

pytest.importorskip("kahypar")
pytest.importorskip("torch")
pytest.importorskip("matplotlib")
FIRST = "mpirun -n 2 python -m hpc machine"
"""Measured before the other tools predict with it."""
EITHER = ("hpc doctor",)
"""Ends with 1 where something is wrong with the machine."""


def every():
    """Yield (tool, words, parser) of every command of every tool."""
    for tool, build in PARSERS.items():
        for words, parser in commands(build()):
            yield tool, words, parser


def examples():
    """Return all examples in an order in which they work, those of commands before summaries."""
    found = [
        example
        for _, _, parser in sorted(every(), key=lambda one: bool(subcommands(one[2])))
        for example in parser.examples
    ]
    return list(dict.fromkeys(sorted(found, key=lambda line: not line.startswith(FIRST))))


@pytest.mark.parametrize("tool", PARSERS)
def test_every_command_has_an_example_of_itself(tool):
    for name, words, parser in every():
        if name == tool:
            start = " ".join(("python -m", tool, *words))
            assert parser.examples, start
            assert all(start in example for example in parser.examples), start
            shown = parser.format_help().replace(" \\\n     ", "")
            assert all(f"\n  {example}\n" in shown for example in parser.examples), start


@pytest.mark.timeout(900)
def test_the_examples_work_one_after_the_other(tmp_path):
    make(tmp_path)
    python = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{tmp_path / 'bin'}:{python}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "OMP_NUM_THREADS": "1",
        "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1",
    }
    for example in examples():
        began = time.monotonic()
        ran = subprocess.run(
            ["timeout", "150", "bash", "-c", example],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"{time.monotonic() - began:5.1f} s  {example}")
        passed = (0, 1) if any(name in example for name in EITHER) else (0,)
        assert ran.returncode in passed, f"{example}\n{ran.stdout}{ran.stderr}"
    for made in ("net.h5", "plan.h5", "trained.pt", "report.html", "student.pt2", "compare.png"):
        assert (tmp_path / made).stat().st_size > 0
