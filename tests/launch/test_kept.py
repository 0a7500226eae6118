"""What a job is asked to keep and would not: checkpoints, and files of tasks under one name."""

from __future__ import annotations

import pytest

from hpc.cli.tree import commands, subcommands
from hpc.command_line import build_parser
from hpc.io.errors import InputError
from launch.asked import asked_options
from launch.command import command_of
from launch.job import Job
from launch.kept import OUTPUTS, check_checkpoints, check_outputs_differ
from launch.site import Site
from launch.sweep import parse_sweeps
from partition.cli import build_parser as partition_parser

TRAIN = ("spdnn", "train", "net.h5", "x.h5")
INPUTS = (
    "--plan", "--spare-plan", "--test", "--categories", "--config", "--data", "--teacher",
    "--profile", "--architecture", "--emulate", "--predicted", "--network", "--machine",
)  # fmt: skip


def job(*words, sweep=(), **options):
    return Job(command_of(words), sweep=parse_sweeps(sweep), **options)


def check(asked):
    options = asked_options(asked)
    check_checkpoints(asked, options)
    check_outputs_differ(asked, options)


@pytest.mark.parametrize("options", [{"requeue": True}, {"signal": 60}])
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (TRAIN, "spdnn train keeps no checkpoint; add --checkpoint DIR to it"),
        (("pipebd", "train", "vgg16-dsconv"), "pipebd train keeps no checkpoint; add --checkpoint"),
        (("spdnn", "infer", "net.h5", "x.h5"), "spdnn infer can keep no checkpoint to stop at"),
        (("partition", "stats", "plan.h5"), "partition stats can keep no checkpoint"),
        (("datasets", "digits", "--out", "x.h5"), "datasets digits can keep no checkpoint"),
    ],
)
def test_nothing_would_be_kept(words, options, said):
    with pytest.raises(InputError) as error:
        check(job(*words, **options))
    assert said in str(error.value)
    assert str(error.value).startswith("--requeue: " if "requeue" in options else "--signal: ")
    check(job(*words))


@pytest.mark.parametrize("site", [Site(), Site(python="other")])
@pytest.mark.parametrize("words", [("--checkpoint", "kept"), ("--checkpoint=kept",)])
def test_what_is_kept(words, site):
    check(job(*TRAIN, *words, requeue=True, signal=60, site=site))
    with pytest.raises(InputError, match="--signal and --requeue: "):
        check(job(*TRAIN, requeue=True, signal=60, site=site))


def test_a_config_file_may_name_the_checkpoints(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('checkpoint = "kept"\n')
    words = (*TRAIN, "--config", str(path))
    check(job(*words, requeue=True))
    with pytest.raises(InputError, match="--checkpoint kept: tasks 0 and 1 would write the same"):
        check(job(*words, array="0-1"))
    check(job(*words, "--checkpoint", "kept-{task}", array="0-1"))


SWEEP = ("lr=0.1,0.2", "seed=1,2,3")
SWEPT = (*TRAIN, "--lr={lr}", "--seed={seed}")


@pytest.mark.parametrize("name", ["--out", "--checkpoint", "--run", "--json", "--log"])
@pytest.mark.parametrize("form", ["{} {}", "{}={}"])
@pytest.mark.parametrize(
    ("value", "missing"),
    [
        ("same", "{lr} and {seed}, or {task},"),
        ("{lr}", "{seed}, or {task},"),
        ("{seed}", "{lr}, or {task},"),
        ("{other}", "{lr} and {seed}, or {task},"),
        ("{lr}{seed}", None),
        ("{task}", None),
    ],
)
def test_a_sweep_writes_a_file_for_each_task(name, form, value, missing):
    asked = job(*SWEPT, *form.format(name, value).split(), sweep=SWEEP)
    if missing is None:
        check(asked)
        return
    with pytest.raises(InputError) as error:
        check(asked)
    assert str(error.value).startswith(f"{name} {value}: tasks ")
    assert str(error.value).endswith(f"would write the same; put {missing} into it")


def test_names_that_run_together():
    words = (*TRAIN, "--lr={a}", "--seed={b}", "--out={a}{b}")
    with pytest.raises(InputError, match=r"tasks 1 and 2 would write the same; put \{task\} into"):
        check(job(*words, sweep=["a=1,11", "b=1,11"]))


def test_what_does_not_vary_is_not_missed():
    check(job(*SWEPT, "--out={seed}", sweep=["lr=0.1", "seed=1,2"]))
    check(job(*SWEPT, "--out={seed}", sweep=SWEEP, array="0-2"))
    check(job(*SWEPT, "--out=same", sweep=SWEEP, array="3"))
    check(job(*TRAIN, "--out=same", array="3,3"))
    with pytest.raises(InputError, match=r"--out same: tasks 0 and 1 .* put \{task\} into it"):
        check(job(*TRAIN, "--out=same", array="0-1"))


def test_a_tool_in_a_sweep():
    build = ("partition", "build", "net.h5", "--parts={p}", "--out")
    check(job(*build, "plan{p}.h5", sweep=["p=2,4"]))
    with pytest.raises(InputError, match=r"--out plan[.]h5: tasks 0 and 1"):
        check(job(*build, "plan.h5", sweep=["p=2,4"]))


def test_all_options_that_name_files_are_known():
    """A new one is to be put among those that are written, or among those that are read."""
    found = {
        name
        for tool in (build_parser(), partition_parser())
        for _, command in commands(tool)
        if not subcommands(command)
        for action in command._actions
        for name in action.option_strings
        if any(kind in str(action.metavar) for kind in ("FILE", "DIR"))
    }
    assert found == {*OUTPUTS, *INPUTS}
