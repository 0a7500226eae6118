"""What a job may be asked for."""

from __future__ import annotations

import pytest

from hpc.io.errors import InputError
from launch.command import command_of
from launch.job import Job, array_tasks
from launch.sweep import parse_sweeps

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
        ({"gpus_per_task": -1}, "--gpus-per-task -1: expected at least 0"),
        ({"time": "2h"}, "--time '2h': expected minutes, HH:MM:SS"),
        ({"time": "1\n#SBATCH --wrap=x"}, "--time"),
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


@pytest.mark.parametrize("texts", [["lr"], ["=1"], ["lr="], ["a b=1"], ["a=1", "a=2"], ["task=1"]])
def test_no_sweeps(texts):
    with pytest.raises(InputError, match="--sweep"):
        parse_sweeps(texts)


def test_a_sweep_too_large():
    with pytest.raises(InputError, match="1000000 tasks"):
        parse_sweeps([f"{name}={','.join('0123456789')}" for name in "abcdef"])
