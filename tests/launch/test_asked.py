"""Words after -- that would fail only in the queue."""

from __future__ import annotations

import subprocess
import sys

import pytest

from hpc.io.errors import InputError
from launch.asked import asked_options
from launch.command import command_of
from launch.job import Job
from launch.site import Site
from launch.sweep import parse_sweeps
from tests.launching import ROOT

TRAIN = ("spdnn", "train", "net.h5", "x.h5")


def job(*words, sweep=(), **options):
    return Job(command_of(words), sweep=parse_sweeps(sweep), **options)


def test_options_are_the_commands():
    assert asked_options(job(*TRAIN, "--batch", "7")).batch == 7
    assert asked_options(job("partition", "stats", "plan.h5")).in_force["plan"] == "plan.h5"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*TRAIN, "--bach", "3"), "unrecognized arguments: --bach 3; did you mean --batch?"),
        (TRAIN[:3], "the following arguments are required: inputs"),
        (("spdnn", "fly"), "invalid choice: 'fly'"),
        ((*TRAIN, "--batch", "many"), "--batch: invalid int value: 'many'"),
        (("pipebd", "plan", "--epoks", "2"), "pipebd plan --help"),
        (("partition", "build", "net.h5", "--pats", "2"), "partition build --help"),
        ((*TRAIN, "--config", "missing.toml"), "missing.toml: cannot be read"),
    ],
)
def test_what_the_parser_refuses(words, said):
    with pytest.raises(InputError) as error:
        asked_options(job(*words))
    assert str(error.value).startswith("after --: ")
    assert said in str(error.value)


def test_every_value_of_a_sweep_is_read():
    sweep = ["lr=0.1,1e-3", "batch=1,2,3"]
    words = (*TRAIN, "--lr", "{lr}", "--batch={batch}", "--seed", "{task}", "--out", "{lr}.h5")
    found = asked_options(job(*words, sweep=sweep))
    assert (found.lr, found.batch, found.seed, found.out) == (0.1, 1, 0, "0.1.h5")
    with pytest.raises(InputError, match="--batch: invalid int value: 'x'"):
        asked_options(job(*words, sweep=["lr=0.1,1e-3", "batch=1,2,x"]))
    with pytest.raises(InputError, match="--lr: invalid float value: 'x'"):
        asked_options(job(*words, sweep=["lr=0.1,x", "batch=1,2,3"]))


def test_an_array_has_numbers_and_a_single_job_has_none():
    words = (*TRAIN, "--seed", "{task}")
    assert asked_options(job(*words, array="4,7")).seed == 4
    with pytest.raises(InputError, match="--seed"):
        asked_options(job(*words))


@pytest.mark.parametrize("site", [{"python": "python3.12"}, {"container": ("apptainer", "x")}])
def test_another_python_may_know_more(site):
    assert asked_options(job(*TRAIN, "--newer", site=Site(**site))) is None
    assert asked_options(job(*TRAIN, site=Site(**site))).batch == 64


def test_what_is_not_read(capsys):
    assert asked_options(job(*TRAIN, "--help")) is None
    assert asked_options(job("datasets", "random", "--foo")) is None
    assert capsys.readouterr().out == ""


def test_reading_starts_no_mpi():
    code = (
        "import sys; from launch.asked import asked_options; from launch.command import Command; "
        f"from launch.job import Job; assert asked_options(Job(Command({TRAIN!r}))); "
        "print([m for m in ('mpi4py', 'torch') if m in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert ran.stdout.strip() == "[]", ran.stdout + ran.stderr
