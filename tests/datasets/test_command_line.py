import subprocess
import sys
from pathlib import Path

import pytest

from datasets.__main__ import COMMANDS
from hpc.io.network import read_header

ROOT = Path(__file__).parents[2]


def run(*arguments, cwd=ROOT):
    command = [sys.executable, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help(name):
    done = run("-m", "datasets", name, "--help")
    assert done.returncode == 0
    assert done.stdout.startswith(f"usage: python -m datasets {name} ")


def test_unknown_command_is_bad_usage():
    done = run("-m", "datasets", "cats")
    assert done.returncode == 2
    assert "invalid choice: 'cats'" in done.stderr


def test_the_folder_runs_from_anywhere_beside_another_package_of_its_name(tmp_path):
    other = tmp_path / "datasets"
    other.mkdir()
    (other / "__init__.py").write_text("raise ImportError('the wrong one')")
    network = ("--sizes", "8,9,4", "--degree", 2, "--out", "net.h5")
    done = run(ROOT / "datasets", "random", *network, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert read_header(tmp_path / "net.h5").sizes == (8, 9, 4)


@pytest.mark.parametrize(
    "arguments",
    [
        ("graph-challenge", "--neurons", 1024, "--layers", 120),
        ("graph-challenge", "--neurons", 1024, "--images-from", "missing"),
        ("mnist", "--source", "missing"),
        ("random", "--sizes", "8,8", "--degree", 2),
    ],
)
def test_an_unwritable_output_is_found_before_the_work(arguments, tmp_path):
    done = run("-m", "datasets", *arguments, "--out", tmp_path / "no" / "x.h5")
    assert done.returncode == 2
    assert "does not exist" in done.stderr
    assert "missing" not in done.stderr
