"""Command lines of runs on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from hpc.io.errors import InputError
from hpc.samples import sample_path
from launch.command import command_of
from launch.local import Host, LocalOptions, local_run, local_text
from launch.mpirun import flavour_of, found_flavour
from tests.launch.hostile import NAMES
from tests.launch.stubs import words
from tests.launching import ROOT, run_alone

pytestmark = pytest.mark.launches
INFER = command_of(["spdnn", "infer", "net.h5"])
PROGRAM = ["py", "-m", "hpc", "spdnn", "infer", "net.h5"]
PINS = {f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}


def line(options, command=INFER, cores=8, root=False, flavour="mpich"):
    return local_run(options, Host(cores, root, "mpirun", flavour), command, ["py"])


@pytest.mark.parametrize(
    ("options", "flavour", "expected"),
    [
        (LocalOptions(4), "mpich", "-n 4 -bind-to core"),
        (LocalOptions(4, 2), "mpich", "-n 4 -bind-to core:2"),
        (LocalOptions(4, 3), "mpich", "-n 4 -bind-to none"),
        (LocalOptions(4, 1, "none"), "mpich", "-n 4 -bind-to none"),
        (LocalOptions(4), "openmpi", "-n 4 --bind-to core"),
        (LocalOptions(4, 2), "openmpi", "-n 4 --bind-to core --map-by slot:PE=2"),
        (LocalOptions(9), "openmpi", "-n 9 --bind-to none --oversubscribe"),
        (LocalOptions(4, 1, "none"), "openmpi", "-n 4 --bind-to none"),
    ],
)
def test_words(options, flavour, expected):
    assert line(options, flavour=flavour)[1] == ["mpirun", *expected.split(), *PROGRAM]


def test_ranks_that_are_to_outlive_each_other():
    command = command_of(["spdnn", "train", "net.h5", "--on-failure", "shrink"])
    expected = ["mpirun", "-n", "4", "--bind-to", "core", "--with-ft", "ulfm"]
    assert line(LocalOptions(4), command, flavour="openmpi")[1][:7] == expected
    assert "--with-ft" not in line(LocalOptions(4), command, flavour="mpich")[1]


def test_environment():
    assert line(LocalOptions(4, 2))[0] == dict.fromkeys(PINS, "2")
    assert line(LocalOptions(9))[0]["MPIR_CVAR_ENABLE_HEAVY_YIELD"] == "1"
    as_root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    assert line(LocalOptions(1), root=True)[0] == dict.fromkeys(PINS, "1") | as_root


def test_a_tool_needs_no_mpirun():
    tool = command_of(["partition", "stats", "plan.h5"])
    environment, found = line(LocalOptions(1, 2), tool)
    assert found == ["py", "-m", "partition", "stats", "plan.h5"]
    assert environment == dict.fromkeys(PINS, "2")
    with pytest.raises(InputError, match="of one process"):
        line(LocalOptions(2), tool)


@pytest.mark.parametrize("wrong", [{"ranks": 0}, {"threads": -1}, {"bind": "socket"}])
def test_options_out_of_range(wrong):
    with pytest.raises(InputError, match="expected"):
        LocalOptions(**wrong)


def test_the_line_is_what_bash_runs():
    shown = local_text(*line(LocalOptions(2), command_of(["spdnn", *NAMES])))
    shown = shown.replace("mpirun -n 2 -bind-to core py", r"printf '%s\0'", 1)
    ran = subprocess.run(["bash"], input=os.fsencode(shown), capture_output=True, timeout=20)
    assert words(ran.stdout)[-len(NAMES) :] == NAMES


@pytest.mark.parametrize(
    ("version", "flavour"),
    [
        ("HYDRA build details:\n    Version: 5.0.2", "mpich"),
        ("mpirun (Open MPI) 5.0.11", "openmpi"),
        ("Intel(R) MPI Library", None),
    ],
)
def test_flavours(version, flavour):
    assert flavour_of(version) == flavour


def test_no_mpirun_and_an_unknown_one():
    with pytest.raises(InputError, match="not found"):
        found_flavour("/missing/mpirun")
    with pytest.raises(InputError, match="unknown MPI"):
        found_flavour("/bin/true")


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.h5"
    made = run_alone(
        "-m", "launch", "local", "--", "datasets", "random", "--sizes", "784,16,10",
        "--degree", 4, "--out", path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return path


def test_a_real_run(network, tmp_path):
    ran = run_alone(
        "-m", "launch", "local", "-n", 2, "--", "spdnn", "infer", network, sample_path("digits"),
        "--json", tmp_path / "f.json",
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert json.loads((tmp_path / "f.json").read_text())["ranks"] == 2


def test_a_parent_that_ignores_the_end_of_its_children(network):
    code = (
        "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
        "os.execv(sys.executable, [sys.executable, *sys.argv[1:]])"
    )
    words = ("-m", "launch", "local", "-n", 2, "--", "spdnn", "infer", network, "missing.h5")
    assert run_alone("-c", code, *words, timeout=60).returncode == 2


def test_the_exit_code_is_the_programs(network):
    ran = run_alone("-m", "launch", "local", "-n", 2, "--", "spdnn", "infer", network, "missing.h5")
    assert ran.returncode == 2
    assert "missing.h5: no such file" in ran.stderr


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["local", "--foo", "--", "spdnn"],
            "valid options: --help --ranks --threads --bind --dry-run",
        ),
        (["slurm", "--foo", "--", "spdnn"], "--gpus-per-task"),
        (["status", "--foo"], "valid options: --help --output --json --quiet --config --version"),
        (["local", "--", "ls"], "expected one of spdnn, pipebd"),
        (["local", "-n", "0", "--", "spdnn", "infer"], "-n 0: expected at least 1"),
        (["local", "-n", "9" * 12, "--", "spdnn", "infer"], "expected at most 2147483647"),
        (["slurm", "--", "spdnn", "infer", "a", "b", "--bach=3"], "did you mean --batch?"),
        (["slurm", "--requeue", "--", "spdnn", "train", "a", "b"], "add --checkpoint DIR"),
        (["fly"], "invalid choice: 'fly' (choose from 'local', 'slurm', 'status', 'logs')"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(arguments, said):
    ran = subprocess.run(
        [sys.executable, "-m", "launch", *arguments],
        cwd=ROOT, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert ran.returncode == 2
    assert said in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_a_plan_for_other_ranks_is_refused_before_the_start(network, tmp_path):
    plan = tmp_path / "plan.h5"
    built = ("partition", "build", network, "--parts", 3, "--method", "block", "--out", plan)
    assert run_alone("-m", "launch", "local", "--", *built).returncode == 0
    infer = ("spdnn", "infer", network, sample_path("digits"), "--plan", plan)
    ran = run_alone("-m", "launch", "local", "-n", 2, "--", *infer)
    assert ran.returncode == 2
    assert "made for 3 ranks; the job has 2" in ran.stderr
