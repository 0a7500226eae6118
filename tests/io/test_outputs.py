"""No command line replaces a file that it reads, or one output by another."""

from __future__ import annotations

import os

import pytest

from hpc.io.errors import InputError
from hpc.io.outputs import check_outputs
from tests.launching import run_alone


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.h5").write_bytes(b"n")
    os.link("net.h5", "hard.h5")
    os.symlink("net.h5", "soft.h5")
    return tmp_path


@pytest.mark.parametrize("out", ["net.h5", "./net.h5", "hard.h5", "soft.h5"])
def test_an_input_by_any_name(folder, out):
    with pytest.raises(InputError, match="--json-out would replace the file that 'network' names"):
        check_outputs({"json_out": out, "network": folder / "net.h5", "seed": 3}, ["json_out"])
    with pytest.raises(InputError, match="'plans' names"):
        check_outputs({"out": out, "plans": ["a.h5", "net.h5"]}, ["out"])


def test_two_outputs(folder):
    with pytest.raises(InputError, match=r"new.h5: --out would replace the file that 'json' names"):
        check_outputs({"out": "new.h5", "json": "new.h5"}, ["out", "json"])


def test_what_is_right_and_what_cannot_be_written(folder):
    check_outputs({"out": "new.h5", "json": None, "network": "net.h5", "flag": True}, ["out"])
    check_outputs({"json": "-", "network": "-"}, ["json"])
    with pytest.raises(InputError, match="does not exist"):
        check_outputs({"out": "no/new.h5"}, ["out"])


def test_a_device_is_not_replaced(folder):
    os.mkfifo("pipe")
    with pytest.raises(InputError, match="pipe: is not a regular file"):
        check_outputs({"out": "pipe"}, ["out"])
    with pytest.raises(InputError, match="--out: expected the name of a file"):
        check_outputs({"out": ""}, ["out"])


COMMANDS = {
    "build": "-m partition build NET --parts 2 --method block --out NET",
    "shard": "-m partition shard NET PLAN --out PLAN",
    "stats": "-m partition stats PLAN --json PLAN",
    "compare": "-m partition compare NET --parts 2 --json NET",
    "predict": "-m partition predict PLAN --machine NET --json PLAN",
    "infer": "-m hpc spdnn infer NET X --out X",
    "infer plan": "-m hpc spdnn infer NET X --plan PLAN --json PLAN",
    "train": "-m hpc spdnn train NET X --out NET",
    "train twice": "-m hpc spdnn train NET X --out NEW --json NEW",
    "pipebd": "-m hpc pipebd train vgg16-dsconv --data X --out X",
    "plan": "-m hpc pipebd plan --profile X --ranks 2 --json X",
    "timeline": "-m hpc pipebd timeline X --json X",
    "digits": "-m datasets digits --train X --out X",
    "images": "-m datasets graph-challenge --images X --neurons 4 --out X",
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    names = {"NET": folder / "net.h5", "PLAN": folder / "plan.h5", "X": folder / "x.h5"}
    for path in names.values():
        path.write_bytes(path.name.encode())
    return names | {"NEW": folder / "new.h5"}


@pytest.mark.parametrize("what", COMMANDS)
def test_every_command(files, what):
    words = [str(files.get(word, word)) for word in COMMANDS[what].split()]
    ran = run_alone(*words)
    assert ran.returncode == 2, ran.stderr
    assert "would replace the file that" in ran.stderr
    assert all(path.read_bytes() == path.name.encode() for path in files.values() if path.exists())
    assert not files["NEW"].exists()
