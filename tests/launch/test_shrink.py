"""What is launched with `--on-failure shrink` outlives a rank: here, and by the text of a job."""

from __future__ import annotations

import signal
import sys

import pytest

from launch.command import command_of
from launch.job import Job
from launch.script import script
from launch.site import Site
from tests.launching import ROOT, run_alone
from tests.stopping import LAUNCH, MPIRUN, outcome, processes, started, wait_for_checkpoint
from tests.survivors import DIED, SHRINK, needs_ulfm

pytestmark = needs_ulfm
DIGITS = ROOT / "hpc" / "samples" / "digits.h5"


@pytest.fixture
def words(tmp_path):
    network = tmp_path / "net.h5"
    sizes = ("--sizes", "784,300,10", "--degree", "8", "--kind", "er")
    assert run_alone("-m", "datasets", "random", *sizes, "--out", network).returncode == 0
    return [
        "spdnn", "train", network, DIGITS, "--epochs", 5, "--batch", 50, "--quiet",
        "--checkpoint", tmp_path / "c", "--every", "10steps", *SHRINK,
    ]  # fmt: skip


def with_a_death(launcher, words, root, rank):
    with started(3, *words, launcher=launcher) as running:
        wait_for_checkpoint(root)
        processes(running)[rank].send_signal(signal.SIGKILL)
        return outcome(running)


def test_local(tmp_path, words):
    code, output, errors = with_a_death(LAUNCH, words, tmp_path / "c", 1)
    assert code == 0, errors
    assert len(DIED.findall(errors)) == 1
    assert "epoch   5" in output


@pytest.mark.parametrize("rank", [0, 2])
def test_job(tmp_path, words, rank):
    """The launcher sees a shell in place of a rank, and the first rank may be the one that dies."""
    site = Site(python=sys.executable, launcher=(str(MPIRUN),))
    command = command_of(list(map(str, words)))
    folder = str(tmp_path / "runs")
    path = tmp_path / "job.sh"
    path.write_text(script(Job(command, site, tasks_per_node=3, mpi="mpirun", output=folder)))
    launcher = ("env", "SLURM_JOB_ID=77", "bash", path)
    code, output, errors = with_a_death(launcher, [], tmp_path / "c", rank)
    assert code == 0, errors
    assert len(DIED.findall(errors)) == 1
    assert "launch: done" in output
    assert (tmp_path / "runs" / "77.exit").read_text() == "0\n"
