"""What a job may be asked for."""

from __future__ import annotations

import pytest

from hpc.io.errors import InputError
from launch.command import command_of
from launch.job import Job, array_tasks
from launch.sweep import parse_sweeps
from launch.time_limit import limit_s

TRAIN = command_of(["spdnn", "train", "net.h5", "--lr={lr}"])


@pytest.mark.parametrize("time", ["5", "90:00", "02:00:00", "1-12", "1-12:30", "1-12:30:00"])
def test_times(time):
    assert Job(TRAIN, time=time).time == time


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"nodes": 0}, "--nodes 0: expected at least 1"),
        ({"tasks_per_node": 0}, "--tasks-per-node 0"),
        ({"threads": -2}, "--threads -2"),
        ({"nodes": 1 << 31}, "--nodes 2147483648: expected at most 2147483647"),
        ({"tasks_per_node": 10**30}, "expected at most 2147483647"),
        ({"threads": 1 << 31}, "--threads 2147483648: expected at most"),
        ({"gpus_per_task": 1 << 31}, "--gpus-per-task 2147483648: expected at most"),
        ({"nodes": 1 << 16, "tasks_per_node": 1 << 15}, "2147483648 ranks, expected at most"),
        ({"gpus_per_task": -1}, "--gpus-per-task -1: expected at least 0"),
        ({"time": "2h"}, "--time '2h': expected minutes, HH:MM:SS"),
        ({"time": "1\n#SBATCH --wrap=x"}, "--time"),
        ({"time": "9" * 5000}, "expected at most 2147483647 minutes"),
        ({"time": "2147483648"}, "expected at most 2147483647 minutes"),
        ({"time": "5", "signal": 300}, "--signal 300 with --time 5: the limit is 300 s"),
        ({"time": "0-00:01", "signal": 60}, "--signal 60 with --time 0-00:01: the limit is 60 s"),
        ({"partition": "a b"}, "--partition 'a b'"),
        ({"account": "-x"}, "--account '-x'"),
        ({"qos": ""}, "--qos ''"),
        ({"name": "a\n#SBATCH --wrap=x"}, "--name"),
        ({"output": "a\n#SBATCH --wrap=x"}, "--output"),
        ({"output": "run-%j"}, "gives % in it a meaning"),
        ({"output": "a\\b"}, "--output"),
        ({"mpi": "pmi"}, "expected one of srun-pmi2, srun-pmix, mpirun"),
        ({"bind": "socket"}, "--bind 'socket': expected one of core, none"),
        ({"gpu_bind": "x"}, "--gpu-bind 'x': expected one of own, all"),
        ({"array": "0-"}, "--array '0-'"),
        ({"array": "5-1"}, "no range"),
        ({"array": "9" * 5000}, "--array"),
        ({"after": ("12 --wrap=x",)}, "--after"),
        ({"signal": 0}, "--signal 0"),
        ({"signal": 70000}, "65535"),
        ({"sweep": {"seed": ["1"]}}, "there is no {seed} in the command"),
        ({"sweep": {"lr": ["1", "2"]}, "array": "0-2"}, "the sweep has tasks 0..1"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(InputError) as error:
        Job(TRAIN, **options)
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0), ("90", 5400), ("90:30", 5430), ("02:00:01", 7201), ("1-12", 129600),
        ("1-12:30", 131400), ("1-12:30:05", 131405),
    ],
)  # fmt: skip
def test_seconds_of_a_limit(text, seconds):
    assert limit_s(text) == seconds


@pytest.mark.parametrize("text", ["", ":", "1:2", "1:00:0", "1:00:00:00", "1-", "-1", "1-1:1", "٣"])
def test_no_limit(text):
    with pytest.raises(InputError, match="expected minutes, HH:MM:SS or D-HH:MM:SS"):
        limit_s(text)


def test_a_signal_before_the_limit():
    assert Job(TRAIN, time="5", signal=299).signal == 299
    assert Job(TRAIN, time="0", signal=300).signal == 300
    assert Job(TRAIN, signal=300).signal == 300


def test_a_tool_has_one_process():
    tool = command_of(["partition", "stats", "plan.h5"])
    assert Job(tool).ranks == 1
    with pytest.raises(InputError, match="of one process, the job has 6"):
        Job(tool, nodes=2, tasks_per_node=3)


@pytest.mark.parametrize(
    ("text", "tasks"),
    [("0-3", [0, 1, 2, 3]), ("1,5", [1, 5]), ("0-6:3,9%2", [0, 3, 6, 9]), ("7", [7])],
)
def test_arrays(text, tasks):
    assert array_tasks(text) == tasks


@pytest.mark.parametrize("text", ["", "a", "1-2-3", "0-3%", "0-3%0", "1,,2", "٣", "0-9:0", "-1"])
def test_no_arrays(text):
    with pytest.raises(InputError, match="--array"):
        array_tasks(text)


def test_sweeps():
    assert parse_sweeps([]) == {}
    assert parse_sweeps(["lr=0.1,a=b,"]) == {"lr": ["0.1", "a=b", ""]}
    both = parse_sweeps(["a=1,2", "b=x,y"])
    assert both == {"a": ["1", "1", "2", "2"], "b": ["x", "y", "x", "y"]}


@pytest.mark.parametrize(
    "texts",
    [["lr"], ["=1"], ["lr="], ["a b=1"], ["a=1", "a=2"], ["task=1"],
     ["a=1,2,1"], ["a=1", "b=x,,y,"]],
)  # fmt: skip
def test_no_sweeps(texts):
    with pytest.raises(InputError, match="--sweep"):
        parse_sweeps(texts)


def test_a_sweep_too_large():
    with pytest.raises(InputError, match="1000000 tasks"):
        parse_sweeps([f"{name}={','.join('0123456789')}" for name in "abcdef"])
