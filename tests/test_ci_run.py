"""`.ci/run` passes when tests passed and only then, whatever bytes an MPI prints among them."""

import os
import subprocess
from pathlib import Path

import pytest

CI_RUN = Path(__file__).parents[1] / ".ci" / "run"
SEEN_AS_INSTALLED = ("slurmctld", "chromium", "zsh")


def ran(folder: Path, printed: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    """`.ci/run` with a `make` that prints `printed` and ends with `code`."""
    commands = dict.fromkeys(SEEN_AS_INSTALLED, "exit 0")
    commands["make"] = f"printf '{printed}'; exit {code}"
    for name, script in commands.items():
        (folder / name).write_text(f"#!/bin/sh\n{script}\n")
        (folder / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    return subprocess.run(
        [CI_RUN], env=environment, capture_output=True, text=True, errors="replace", timeout=60
    )


@pytest.mark.parametrize("printed", ["== 3 passed in 1 s\\n", "5.0.11\\0\\377\\n== 3 passed\\n"])
def test_a_suite_that_passed(tmp_path: Path, printed: str) -> None:
    assert ran(tmp_path, printed).returncode == 0


def test_no_test_ran(tmp_path: Path) -> None:
    done = ran(tmp_path, "== 9 skipped\\n")
    assert done.returncode == 1
    assert "no test ran" in done.stderr


def test_a_suite_that_failed(tmp_path: Path) -> None:
    assert ran(tmp_path, "== 3 passed, 1 failed\\n", code=2).returncode != 0
