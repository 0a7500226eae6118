"""What may stand after --, and how many ranks its files are for."""

from __future__ import annotations

import numpy as np
import pytest

from hpc.io.errors import InputError
from hpc.io.plan import block_plan, write_plan
from launch.command import Command, alone, command_of
from launch.ranks import check_ranks


@pytest.mark.parametrize(
    "before", [(), ("hpc",), ("python", "-m", "hpc"), ("python3", "-m", "hpc")]
)
def test_engines_run_on_ranks(before):
    command = command_of([*before, "spdnn", "infer", "net.h5"])
    assert command.words == ("spdnn", "infer", "net.h5")
    assert command.on_ranks
    assert command.name == "spdnn-infer"
    assert command.argv(["box", "py"]) == ["box", "py", "-m", "hpc", "spdnn", "infer", "net.h5"]


@pytest.mark.parametrize("words", [("partition", "build"), ("pipebd", "plan"), ("datasets", "x")])
def test_tools_are_of_one_process(words):
    assert not alone(words, "--before").on_ranks


def test_tools_are_found():
    assert Command(("partition", "stats")).argv(["py"]) == ["py", "-m", "partition", "stats"]
    found = Command(("datasets", "random", "--out", "x")).argv(["py"])
    assert found[0] == "py"
    assert found[1].endswith("/datasets")
    assert found[2:] == ["random", "--out", "x"]


@pytest.mark.parametrize("words", [(), ("bash", "-c", "x"), ("-m", "hpc"), ("spdnn ", "infer")])
def test_anything_else_is_refused(words):
    valid = "spdnn, pipebd, machine, doctor, report, partition, datasets"
    with pytest.raises(InputError, match=valid):
        command_of(words)


def test_refusals():
    with pytest.raises(InputError, match="NUL"):
        command_of(["spdnn", "a\0b"])
    with pytest.raises(InputError, match="runs on ranks"):
        alone(["spdnn", "infer"], "--before")


@pytest.fixture
def plan(tmp_path):
    path = tmp_path / "plan.h5"
    write_plan(path, block_plan((8, 8, 8), 4))
    return str(path)


def test_ranks_of_a_plan(plan, tmp_path):
    words = ["spdnn", "infer", str(tmp_path / "missing.h5"), "--plan", plan]
    check_ranks(words, 4)
    check_ranks([*words, "--replicas", "2"], 8)
    check_ranks([*words[:3], f"--plan={plan}", "--replicas=3"], 12)
    check_ranks(words, 5, made={plan})
    with pytest.raises(InputError, match=r"made for 4 ranks; the job has 5"):
        check_ranks(words, 5)
    with pytest.raises(InputError, match="4 ranks and 2 replicas, so 8 in all; the job has 4"):
        check_ranks([*words, "--replicas", "2"], 4)
    check_ranks([*words, "--replicas", "zero"], 4)


def test_a_spare_plan_is_for_another_number(plan):
    check_ranks(["spdnn", "train", "net.h5", "--spare-plan", plan, f"--spare-plan={plan}"], 5)
    with pytest.raises(InputError, match=r"made for 4 ranks; the job has 5"):
        check_ranks(["spdnn", "train", "net.h5", "--spare-plan", plan, "--plan", plan], 5)


@pytest.mark.parametrize(
    ("words", "shrinks"),
    [
        (["--on-failure", "shrink"], True),
        (["--on-failure=shrink"], True),
        (["--on-failure", "abort", "shrink"], False),
        (["shrink", "--on-failure"], False),
    ],
)
def test_ranks_that_are_to_outlive_each_other(words, shrinks):
    assert command_of(["spdnn", "train", "net.h5", *words]).shrinks == shrinks


def test_a_file_that_is_none_of_ours(tmp_path):
    path = tmp_path / "x.h5"
    path.write_bytes(np.arange(9).tobytes())
    with pytest.raises(InputError, match="not an HDF5 file"):
        check_ranks(["spdnn", "infer", str(path)], 4)
