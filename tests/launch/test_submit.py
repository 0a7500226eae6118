"""A chain that cannot be submitted whole: nothing of it stays in the queue."""

from __future__ import annotations

import os
import sys

import pytest

from tests.launching import run_command

SBATCH = """\
#!/bin/bash
cat >/dev/null
echo x >>"$CALLED/sbatch.called"
number=$((40 + $(wc -l <"$CALLED/sbatch.called")))
if [ "$number" = "$REFUSED" ]; then echo "sbatch: error: no" >&2; exit 1; fi
if [ "$number" = "$STOPPED" ]; then kill -TERM $PPID; sleep 5; fi
echo $number
"""
SCANCEL = """\
#!/bin/bash
echo "$*" >>"$CALLED/scancel.called"
if [ -n "$LOST" ]; then echo "scancel: error: no answer" >&2; exit 1; fi
"""
BEFORE = ("--before", "partition build n.h5 --parts 2 --out p.h5")


@pytest.fixture
def queue(tmp_path):
    """Return a function that submits to stand-ins; it returns the process and what it cancelled."""
    for name, text in (("sbatch", SBATCH), ("scancel", SCANCEL)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def submit(*words, **settings):
        settings = {"REFUSED": "", "STOPPED": "", "LOST": ""} | settings
        path = f"{tmp_path}:{os.environ['PATH']}"
        ran = run_command(
            [sys.executable, "-m", "launch", "slurm", "--output", tmp_path / "runs", *words,
             "--", "doctor"],
            60, {"PATH": path, "CALLED": str(tmp_path)} | settings,
        )  # fmt: skip
        called = tmp_path / "scancel.called"
        lines = called.read_text().splitlines() if called.exists() else []
        return ran, lines

    return submit


@pytest.mark.parametrize(
    ("name", "words", "numbers", "said"),
    [
        ("41.sh", (), "41", "Is a directory"),
        ("42.sh", BEFORE, "41 42", "Is a directory"),
        ("42.json", BEFORE, "41 42", "is a folder"),
    ],
)
def test_what_cannot_be_written_down_is_cancelled(queue, tmp_path, name, words, numbers, said):
    (tmp_path / "runs" / name).mkdir(parents=True)
    ran, cancelled = queue(*words)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert said in line
    assert line.endswith(f"; submitted and cancelled: {numbers}")
    assert cancelled == [numbers]


def test_what_was_submitted_before_a_refusal_is_cancelled(queue):
    ran, cancelled = queue(*BEFORE, REFUSED="42")
    assert ran.returncode == 2
    assert ran.stderr == "launch: error: sbatch: error: no; submitted and cancelled: 41\n"
    assert cancelled == ["41"]


def test_a_refusal_of_the_first_cancels_nothing(queue):
    ran, cancelled = queue(*BEFORE, REFUSED="41")
    assert ran.stderr == "launch: error: sbatch: error: no\n"
    assert cancelled == []


def test_jobs_that_cannot_be_cancelled_are_named(queue, tmp_path):
    (tmp_path / "runs" / "41.sh").mkdir(parents=True)
    ran, _ = queue(LOST="1")
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.endswith("; submitted and not cancelled: 41 (scancel: error: no answer)")


def test_a_signal_cancels_what_was_submitted(queue):
    ran, cancelled = queue(*BEFORE, STOPPED="42")
    assert ran.returncode == 143
    assert cancelled == ["41"]


def test_figures_that_cannot_be_written_are_found_before_anything_is_submitted(queue, tmp_path):
    ran, _ = queue("--json", tmp_path / "no" / "f.json")
    assert ran.returncode == 2
    assert "does not exist" in ran.stderr
    assert not (tmp_path / "sbatch.called").exists()
