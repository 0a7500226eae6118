"""SLURM's commands that fail: one line of ours for any number of theirs."""

from __future__ import annotations

import pytest

from hpc.io.errors import InputError
from launch.cli import main
from launch.records import Record, write_record
from launch.slurm import ask, one_line

NO_CONFIGURATION = """\
squeue: error: resolve_ctls_from_dns_srv: res_nsearch error: Unknown host
squeue: error: fetch_config: DNS SRV lookup failed
squeue: error: _establish_config_source: failed to fetch config
squeue: fatal: Could not establish a configuration source
"""
NO_CONTROLLER = "slurm_load_jobs error: Unable to contact slurm controller (connect failure)\n"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            NO_CONFIGURATION,
            "squeue: SLURM cannot be reached from here "
            "(Could not establish a configuration source)",
        ),
        (NO_CONTROLLER, f"squeue: SLURM cannot be reached from here ({NO_CONTROLLER.strip()})"),
        ("squeue: error: a\n\n  squeue: error: b\nc\n", "squeue: error: a; b; c"),
        ("a\n", "squeue: a"),
    ],
)
def test_one_line(said, expected):
    assert one_line("squeue", said) == expected


@pytest.fixture
def unreachable(tmp_path, monkeypatch):
    """Return a folder of a job, where squeue finds no configuration."""
    squeue = tmp_path / "squeue"
    squeue.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{NO_CONFIGURATION}END\nexit 1\n")
    squeue.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    folder = tmp_path / "runs"
    folder.mkdir()
    write_record(folder, Record("7", "x", ["doctor"], 1, 1, None, [], "", "."))
    return folder


@pytest.mark.parametrize("words", [("status",), ("logs", "7", "--follow")])
def test_status_and_logs(unreachable, words):
    with pytest.raises(InputError, match=r"^squeue: SLURM cannot be reached from here \(.*\)$"):
        main([*words, "--output", str(unreachable)])


def test_a_command_that_says_nothing(tmp_path):
    program = tmp_path / "silent"
    program.write_text("#!/bin/sh\nexit 5\n")
    program.chmod(0o755)
    with pytest.raises(InputError, match=r"silent: exit code 5"):
        ask([str(program)])
