"""Job scripts: their text, and what bash makes of them with stand-ins for SLURM's programs."""

from __future__ import annotations

import re
import shlex
import subprocess

import pytest

from launch.command import command_of
from launch.job import Job
from launch.mpirun import mpirun_path
from launch.script import sbatch_options, script
from launch.site import Site
from launch.sweep import parse_sweeps
from tests.launch.hostile import NAMES
from tests.launching import ROOT

pytestmark = pytest.mark.launches
INFER = ("spdnn", "infer", "net.h5")
GOLDEN = ROOT / "tests" / "launch" / "golden"
FULL = {
    "site": Site(
        modules=("gcc/12", "mpich"), account="physics", container=("apptainer", "exec", "my.sif"),
        sbatch=("--constraint=a100|h100", "--exclusive"), environment={"UCX_TLS": "rc,self"},
    ),
    "nodes": 2, "tasks_per_node": 4, "threads": 2, "gpus_per_task": 1, "time": "02:00:00",
    "partition": "gpu", "after": ("11", "12"), "signal": 120, "requeue": True, "name": "try-1",
    "output": "my runs", "sweep": {"lr": ["0.1", "0.01"]},
}  # fmt: skip


def job(stubs, words=INFER, **options):
    site = options.pop("site", Site(python=str(stubs.folder / "program")))
    return Job(command_of(words), site, **options)


@pytest.mark.parametrize("mpi", ["srun-pmi2", "mpirun"])
def test_text(mpi):
    words = ["spdnn", "train", "net.h5", "it's.h5", "--lr", "{lr}", "--seed={task}"]
    site = FULL["site"] if mpi == "srun-pmi2" else Site(python="py", launcher=("mpiexec",))
    text = script(Job(command_of(words), **FULL | {"site": site, "mpi": mpi}))
    assert text == (GOLDEN / f"{mpi}.sh").read_text()


def test_text_of_ranks_that_are_to_outlive_each_other():
    words = ["spdnn", "train", "net.h5", "x.h5", "--checkpoint", "c", "--on-failure", "shrink"]
    site = Site(python="py", launcher=("mpiexec",))
    text = script(Job(command_of(words), site, tasks_per_node=4, mpi="mpirun", requeue=True))
    assert text == (GOLDEN / "mpirun-shrink.sh").read_text()


@pytest.mark.parametrize(("code", "ended"), [(0, 0), (1, 1), (2, 2), (3, 3), (137, 137)])
def test_the_exit_code_is_that_of_the_ranks_that_are_left(stubs, code, ended):
    words = [*INFER, "--on-failure=shrink"]
    ran = stubs.run(script(job(stubs, words, mpi="mpirun")), STUB_CODE=str(code))
    assert ran.returncode == ended
    assert (stubs.folder / "runs" / "77.exit").read_text() == f"{ended}\n"


@pytest.mark.parametrize("mpi", ["srun-pmi2", "srun-pmix", "mpirun", "the real mpirun"])
def test_hostile_words_arrive_as_they_are(stubs, mpi):
    launcher = (mpirun_path(),) if "real" in mpi else ()
    site = Site(python=str(stubs.folder / "program"), launcher=launcher)
    words, output = [*INFER, *NAMES], "a 'b' $(touch harm)"
    ran = stubs.run(script(job(stubs, words, site=site, mpi=mpi.split()[-1], output=output)))
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert stubs.arrived() == ["-m", "hpc", *INFER, *NAMES]
    assert not (stubs.folder / "harm").exists()
    assert (stubs.folder / "a 'b' $(touch harm)" / "77.exit").read_text() == "0\n"


def test_hostile_values_of_a_site(stubs):
    names = [name for name in NAMES if "\udcff" not in name]
    variables = {f"NAME_{place}": name for place, name in enumerate(names)}
    container = ("env", *(f"C{place}={name}" for place, name in enumerate(names)))
    site = Site(
        python=str(stubs.folder / "program"), environment=variables, container=container,
        modules=("a b", "$(touch harm)"),
    )  # fmt: skip
    ran = stubs.run(script(job(stubs, site=site)))
    assert ran.returncode == 0, ran.stderr
    assert stubs.noted("module") == ["load a b", "load $(touch harm)"]
    found = stubs.environment()
    for place, name in enumerate(names):
        if "\n" not in name:
            assert found[f"NAME_{place}"] == name
            assert found[f"C{place}"] == name
    assert not (stubs.folder / "harm").exists()


def test_hostile_values_of_a_sweep(stubs):
    values = [name for name in NAMES if "," not in name]
    found = job(
        stubs, [*INFER, "x{v}y{v}", "{v}", "{w}"], sweep=parse_sweeps(["v=" + ",".join(values)])
    )
    for task, value in enumerate(values):
        assert stubs.run(script(found), task=task).returncode == 0
        assert stubs.arrived()[-3:] == [f"x{value}y{value}", value, "{w}"]
    assert not (stubs.folder / "harm").exists()


def test_a_sweep_of_two(stubs):
    sweep = parse_sweeps(["a=1,2", "b=x,y,z"])
    found = job(stubs, [*INFER, "{a}{b}", "{task}"], sweep=sweep)
    assert "array=0-5" in list(sbatch_options(found))
    seen = []
    for task in range(6):
        stubs.run(script(found), task=task)
        seen.append(stubs.arrived()[-2:])
        assert (stubs.folder / "runs" / f"70_{task}.exit").exists()
    assert seen == [[a + b, str(i)] for i, (a, b) in enumerate((a, b) for a in "12" for b in "xyz")]


def test_braces_without_a_sweep_are_left_alone(stubs):
    stubs.run(script(job(stubs, [*INFER, "{task}", "{lr}"])))
    assert stubs.arrived()[-2:] == ["{task}", "{lr}"]


@pytest.mark.parametrize("code", [0, 1, 2, 3, 130])
@pytest.mark.parametrize("mpi", ["srun-pmi2", "mpirun"])
@pytest.mark.parametrize("words", [INFER, ("partition", "stats", "plan.h5")])
def test_the_exit_code_is_the_first_ranks(stubs, code, mpi, words):
    ran = stubs.run(script(job(stubs, words, mpi=mpi)), STUB_CODE=str(code))
    assert ran.returncode == code
    assert (stubs.folder / "runs" / "77.exit").read_text() == f"{code}\n"
    assert [path.name for path in (stubs.folder / "runs").iterdir()] == ["77.exit"]
    assert ("launch: done" in ran.stdout) == (code == 0)
    assert stubs.noted("scontrol") == []


@pytest.mark.parametrize("mpi", ["srun-pmi2", "mpirun"])
def test_a_launcher_that_returns_0_without_a_rank_has_failed(stubs, mpi):
    ran = stubs.run(script(job(stubs, mpi=mpi)), STUB_LOST="1")
    assert ran.returncode == 1
    assert "the first did not say how" in ran.stderr
    assert (stubs.folder / "runs" / "77.exit").read_text() == "1\n"


def test_a_stopped_run_is_queued_again(stubs):
    text = script(job(stubs, requeue=True))
    assert stubs.run(text, STUB_CODE="3").returncode == 3
    assert stubs.noted("scontrol") == ["requeue 77"]
    stubs.run(text, STUB_CODE="1")
    stubs.run(text, STUB_CODE="3", task=4)
    assert stubs.noted("scontrol") == ["requeue 77", "requeue 70_4"]


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("HYDRA build details", "mpirun -n 2 -bind-to none"),
        ("mpirun (Open MPI) 5.0.11", "mpirun -n 2 --bind-to none"),
    ],
)
def test_the_script_asks_whose_mpirun_it_is(stubs, said, expected):
    found = job(stubs, tasks_per_node=2, mpi="mpirun", bind="none")
    assert stubs.run(script(found), STUB_MPI=said).returncode == 0
    assert stubs.started()[: len(expected.split())] == expected.split()
    ran = stubs.run(script(found), STUB_MPI="other")
    assert ran.returncode == 1
    assert "unknown MPI" in ran.stderr


def test_more_threads_than_cores(stubs):
    few, many = (job(stubs, tasks_per_node=n, mpi="mpirun") for n in (1, 4096))
    stubs.run(script(few), STUB_MPI="Open MPI")
    assert stubs.started() == ["mpirun", "-n", "1", "--bind-to", "core"]
    stubs.run(script(many), STUB_MPI="Open MPI")
    assert stubs.started() == ["mpirun", "-n", "4096", "--bind-to", "none", "--oversubscribe"]
    assert stubs.environment()["MPIR_CVAR_ENABLE_HEAVY_YIELD"] == "1"


def test_srun_and_the_environment(stubs):
    stubs.run(script(job(stubs, nodes=2, tasks_per_node=3, threads=4, gpus_per_task=1)))
    assert stubs.started() == [
        "srun", "--kill-on-bad-exit=1", "--mpi=pmi2", "--nodes=2", "--ntasks=6",
        "--ntasks-per-node=3", "--cpus-per-task=4", "--cpu-bind=cores", "--gpus-per-task=1",
        "--gpu-bind=per_task:1",
    ]  # fmt: skip
    found = stubs.environment()
    assert found["OMP_NUM_THREADS"] == found["NUMBA_NUM_THREADS"] == "4"


def test_who_gets_the_signal(stubs):
    def option(**options):
        text = "\n".join(sbatch_options(job(stubs, signal=60, **options)))
        return re.findall(r"^signal=.*", text, re.M)

    assert option() == ["signal=USR1@60"]
    assert option(mpi="mpirun") == ["signal=B:USR1@60"]
    assert option(words=("partition", "stats", "p.h5")) == []


def test_bash_finds_no_fault():
    for path in GOLDEN.glob("*.sh"):
        assert subprocess.run(["bash", "-n", str(path)], timeout=20).returncode == 0
        head = path.read_text().split("set -u")[0].splitlines()
        assert all(line.startswith(("#SBATCH --", "#!")) for line in head)
        assert all(shlex.split(line[8:]) for line in head[1:])
