"""Jobs on a real SLURM: both engines to the right answer, chains, arrays, signals."""

from __future__ import annotations

import json
import re

import h5py
import numpy as np
import psutil
import pytest
import torch

from hpc.samples import sample_path
from launch.mpirun import found_flavour, mpirun_path
from tests.launch.jobs import Jobs
from tests.launching import run_alone
from tests.pipebd.small_runs import write_images

IMAGES = sample_path("challenge-1024")
TWO_BY_TWO = ("--nodes", 2, "--tasks-per-node", 2)
INFER = ("spdnn", "infer", "net.h5", IMAGES)
OURS = found_flavour(mpirun_path())
MPIS = ("srun-pmi2", "mpirun") if OURS == "mpich" else ("mpirun",)
"""Who can start ranks of this environment's MPI."""
pytestmark = pytest.mark.launches


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    """Return the Challenge's network N = 1024, L = 120."""
    path = tmp_path_factory.mktemp("challenge") / "net.h5"
    asked = ("graph-challenge", "--neurons", 1024, "--layers", 120, "--out", path)
    made = run_alone("-m", "datasets", *asked)
    assert made.returncode == 0, made.stderr
    return path


@pytest.fixture
def jobs(slurm, tmp_path):
    found = Jobs(tmp_path, slurm)
    yield found
    found.run("scancel", "--user=root")
    found.wait(lambda: not found.run("squeue", "-h"))


@pytest.fixture
def with_network(jobs, network):
    (jobs.folder / "net.h5").symlink_to(network)
    return jobs


@pytest.mark.parametrize("mpi", MPIS)
def test_the_official_categories_after_a_cut(with_network, mpi):
    jobs = with_network
    build = "partition build net.h5 --parts 4 --method random --out plan.h5"
    first, second = jobs.submit(
        *TWO_BY_TWO, "--mpi", mpi, "--before", build, "--",
        *INFER, "--plan", "plan.h5", "--categories", "kept", "--json", "f.json",
    )  # fmt: skip
    followed = jobs.launch("logs", second, "--follow")
    assert "2000 images on 4 rank(s): 73 categories" in followed
    assert followed.rstrip().endswith("launch: done")
    assert jobs.ended(second) == "COMPLETED"
    figures = json.loads((jobs.folder / "f.json").read_text())
    assert figures["categories_agree"] is True
    assert figures["ranks"] == 4
    found = jobs.states()
    assert {job: (one["state"], one["code"]) for job, one in found.items()} == {
        first: ("COMPLETED", 0), second: ("COMPLETED", 0),
    }  # fmt: skip
    assert found[second]["where"] == "node[1-2]"
    record = json.loads((jobs.folder / "runs" / f"{second}.json").read_text())
    assert record["after"] == [first]


def test_distillation_has_the_weights_of_one_process(jobs):
    write_images(jobs.folder / "x.h5", n_train=12, n_test=4)
    train = (
        "pipebd", "train", "vgg16-dsconv", "--width", 0.03, "--data", "x.h5", "--batch", 4,
        "--epochs", 1, "--device", "cpu", "--quiet", "--schedule", "tr",
    )  # fmt: skip
    (job,) = jobs.submit(*TWO_BY_TWO, "--mpi", MPIS[0], "--", *train, "--out", "four.pt")
    jobs.launch("local", "--", *train, "--out", "one.pt")
    assert jobs.ended(job) == "COMPLETED", jobs.logs()
    one, four = (torch.load(jobs.folder / f"{name}.pt")["state"] for name in ("one", "four"))
    assert one.keys() == four.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(four[name], tensor)


def test_a_job_whose_tool_fails_is_not_started(with_network):
    jobs = with_network
    build = "partition build missing.h5 --parts 1 --out plan.h5"
    first, second = jobs.submit("--mpi", MPIS[0], "--before", build, "--", *INFER)
    assert jobs.ended(first) == "FAILED"
    assert jobs.ended(second) == "CANCELLED"
    assert jobs.states(first)[first]["code"] == 2
    assert "missing.h5: no such file" in jobs.launch("logs", first)


def test_a_sweep_is_an_array(with_network):
    jobs = with_network
    (job,) = jobs.submit(
        "--output", "my $(runs)", "--sweep", "batch=64,0", "--name", "sweep-1",
        "--mpi", MPIS[0], "--",
        *INFER, "--batch", "{batch}", "--json", "{task} {batch}.json",
    )  # fmt: skip
    assert jobs.ended(f"{job}_0") == "COMPLETED"
    assert jobs.ended(f"{job}_1") == "FAILED"
    assert (jobs.folder / "0 64.json").is_file()
    found = jobs.states("--output", "my $(runs)")
    assert [found[f"{job}_{task}"]["code"] for task in (0, 1)] == [0, 2]
    shown = jobs.launch("status", "--output", "my $(runs)", f"{job}_1").splitlines()
    assert len(shown) == 2
    assert shown[1].split()[:5] == [f"{job}_1", "sweep-1", "1", "FAILED", "2"]
    log = jobs.launch("logs", "--output", "my $(runs)", f"{job}_1")
    assert "batch 0: expected at least 1" in log
    both = jobs.launch("logs", "--output", "my $(runs)", job)
    assert re.findall(r"^==> .*$", both, re.M) == [
        f"==> my $(runs)/{job}_{task}.out <==" for task in (0, 1)
    ]
    assert "2000 images on 1 rank(s): 73 categories" in both


def announce(jobs, mpi, job):
    """Signal a job as its option --signal does before the time limit."""
    jobs.run("scancel", "--signal=USR1", *(["--batch"] if mpi == "mpirun" else []), job)


def submit_signalled(jobs, *words):
    """Submit the program that waits for a signal; return its number when all ranks listen."""
    train = ("spdnn", "train", "--checkpoint", "kept")
    (job,) = jobs.submit(*TWO_BY_TWO, *words, "--", *train, site="signalled.toml")
    jobs.wait(lambda: len(jobs.files("ready-*")) == 4)
    return job


@pytest.mark.parametrize("mpi", MPIS)
def test_a_stopped_run_is_queued_again_and_goes_on(jobs, mpi):
    job = submit_signalled(jobs, "--mpi", mpi, "--requeue")
    announce(jobs, mpi, job)
    jobs.wait(lambda: jobs.state(job) == "PENDING")
    assert jobs.files("signal-*") == {f"signal-{rank}": "10\n" for rank in range(4)}
    assert jobs.states(job)[job]["state"] == "PENDING"
    jobs.start_again(job)
    assert jobs.ended(job) == "COMPLETED"
    assert jobs.states(job)[job]["code"] == 0
    log = jobs.launch("logs", job)
    assert "stopped at a checkpoint, queued again" in log
    assert log.count("goes on") == 4


@pytest.mark.parametrize("mpi", MPIS)
def test_without_requeue_the_exit_code_is_3(jobs, mpi):
    job = submit_signalled(jobs, "--mpi", mpi)
    announce(jobs, mpi, job)
    assert jobs.ended(job) == "FAILED"
    assert jobs.states(job)[job]["code"] == 3


def processes_in(folder):
    return [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(folder)]


@pytest.mark.parametrize("mpi", MPIS)
def test_scancel_lets_the_ranks_end_by_themselves_and_is_final(jobs, mpi):
    job = submit_signalled(jobs, "--mpi", mpi, "--requeue")
    jobs.run("scancel", job)
    assert jobs.ended(job) == "CANCELLED"
    if OURS == "mpich":  # Open MPI's mpirun ends its ranks at once when it is told to end
        assert jobs.files("signal-*") == {f"signal-{rank}": "15\n" for rank in range(4)}
    jobs.wait(lambda: not processes_in(jobs.folder))
    assert jobs.states(job)[job]["state"] == "CANCELLED"


@pytest.mark.parametrize("mpi", MPIS)
def test_training_goes_on_to_the_same_weights(jobs, mpi):
    jobs.launch(
        "local", "--", "datasets", "random", "--sizes", "784,300,10", "--degree", 8, "--kind", "er",
        "--activation", "relu,identity", "--init", "scaled", "--out", "net.h5",
    )  # fmt: skip
    epochs = 3 if OURS == "mpich" else 150  # between virtual nodes a step takes it 80 times as long
    train = (
        "spdnn", "train", "net.h5", sample_path("digits"), "--epochs", epochs, "--batch", 25,
        "--lr", 1e-3, "--optimizer", "adam", "--quiet",
    )  # fmt: skip
    (job,) = jobs.submit(
        "--nodes", 2, "--mpi", mpi, "--requeue", "--",
        *train, "--checkpoint", "kept", "--every", "1h", "--out", "stopped.h5",
    )  # fmt: skip
    jobs.wait((jobs.folder / "kept").exists)
    announce(jobs, mpi, job)
    jobs.wait(lambda: jobs.state(job) == "PENDING")
    assert not (jobs.folder / "stopped.h5").exists()
    jobs.start_again(job)
    assert jobs.ended(job) == "COMPLETED", jobs.logs()
    jobs.launch("local", "-n", 2, "--", *train, "--out", "whole.h5")
    assert "going on after step" in jobs.logs()
    for name in ("data", "bias"):
        np.testing.assert_array_equal(stored(jobs, "stopped", name), stored(jobs, "whole", name))


def stored(jobs, file, name):
    with h5py.File(jobs.folder / f"{file}.h5") as opened:
        return opened[name][:]


def test_what_slurm_refuses_is_one_line_and_nothing_stays(with_network):
    jobs = with_network
    build = "partition build net.h5 --parts 1 --out plan.h5"
    asked = ("--array", "0-200000", "--before", build, "--", *INFER)
    said = jobs.launch("slurm", *asked, code=2)
    assert said.startswith("launch: error: sbatch: error: Batch job submission failed: ")
    assert said.count("\n") == 1
    jobs.wait(lambda: not jobs.run("squeue", "-h"))
    assert "no such job" in jobs.launch("status", "999999", code=2)
    assert "nothing was submitted here" in jobs.launch("logs", "1", "--output", "x", code=2)
