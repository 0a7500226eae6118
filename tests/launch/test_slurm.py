"""Jobs on a real SLURM: both engines to the right answer, chains, arrays, signals."""

from __future__ import annotations

import json

import psutil
import pytest
import torch

from hpc.samples import sample_path
from tests.launch.jobs import Jobs
from tests.launching import run_alone
from tests.pipebd.small_runs import write_images

IMAGES = sample_path("challenge-1024")
TWO_BY_TWO = ("--nodes", 2, "--tasks-per-node", 2)
INFER = ("spdnn", "infer", "net.h5", IMAGES)


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


@pytest.mark.parametrize("mpi", ["srun-pmi2", "mpirun"])
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
        "--epochs", 1, "--device", "cpu", "--quiet",
    )  # fmt: skip
    (job,) = jobs.submit(*TWO_BY_TWO, "--", *train, "--schedule", "tr", "--out", "four.pt")
    jobs.launch("local", "--", *train, "--schedule", "tr", "--out", "one.pt")
    assert jobs.ended(job) == "COMPLETED", jobs.logs()
    one, four = (torch.load(jobs.folder / f"{name}.pt")["state"] for name in ("one", "four"))
    assert one.keys() == four.keys()
    for name, tensor in one.items():
        torch.testing.assert_close(four[name], tensor)


def test_a_job_whose_tool_fails_is_not_started(with_network):
    jobs = with_network
    build = "partition build missing.h5 --parts 1 --out plan.h5"
    first, second = jobs.submit("--before", build, "--", *INFER)
    assert jobs.ended(first) == "FAILED"
    assert jobs.ended(second) == "CANCELLED"
    assert jobs.states(first)[first]["code"] == 2
    assert "missing.h5: no such file" in jobs.launch("logs", first)


def test_a_sweep_is_an_array(with_network):
    jobs = with_network
    (job,) = jobs.submit(
        "--output", "my $(runs)", "--sweep", "batch=64,0", "--name", "sweep-1", "--",
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
    assert "--batch 0" in jobs.launch("logs", "--output", "my $(runs)", f"{job}_1")
    both = jobs.launch("logs", "--output", "my $(runs)", job)
    assert f"==> my $(runs)/{job}_0.out <==\n2000 images" in both


def submit_signalled(jobs, *words):
    """Submit the program that waits for a signal; return its number when all ranks listen."""
    (job,) = jobs.submit(*TWO_BY_TWO, *words, "--", "spdnn", "train", site="signalled.toml")
    jobs.wait(lambda: len(jobs.files("ready-*")) == 4)
    return job


@pytest.mark.parametrize(("mpi", "to"), [("srun-pmi2", ()), ("mpirun", ("--batch",))])
def test_a_stopped_run_is_queued_again_and_goes_on(jobs, mpi, to):
    job = submit_signalled(jobs, "--mpi", mpi, "--requeue")
    jobs.run("scancel", "--signal=USR1", *to, job)  # as --signal does before the time limit
    jobs.wait(lambda: jobs.state(job) == "PENDING")
    assert jobs.files("signal-*") == {f"signal-{rank}": "10\n" for rank in range(4)}
    assert jobs.states(job)[job]["state"] == "PENDING"
    jobs.run("scontrol", "update", f"jobid={job}", "StartTime=now")
    assert jobs.ended(job) == "COMPLETED"
    assert jobs.states(job)[job]["code"] == 0
    log = jobs.launch("logs", job)
    assert "stopped at a checkpoint, queued again" in log
    assert log.count("goes on") == 4


def test_without_requeue_the_exit_code_is_3(jobs):
    job = submit_signalled(jobs)
    jobs.run("scancel", "--signal=USR1", job)
    assert jobs.ended(job) == "FAILED"
    assert jobs.states(job)[job]["code"] == 3


@pytest.mark.parametrize("mpi", ["srun-pmi2", "mpirun"])
def test_scancel_lets_the_ranks_end_by_themselves_and_is_final(jobs, mpi):
    job = submit_signalled(jobs, "--mpi", mpi, "--requeue")
    jobs.run("scancel", job)
    assert jobs.ended(job) == "CANCELLED"
    assert jobs.files("signal-*") == {f"signal-{rank}": "15\n" for rank in range(4)}
    mine = [one for one in psutil.process_iter(["cwd"]) if one.info["cwd"] == str(jobs.folder)]
    assert mine == []
    assert jobs.states(job)[job]["state"] == "CANCELLED"


def test_what_slurm_refuses_is_one_line_and_nothing_stays(with_network):
    jobs = with_network
    build = "partition build net.h5 --parts 2000 --out plan.h5"
    said = jobs.launch(
        "slurm", "--nodes", 500, "--tasks-per-node", 4, "--before", build, "--", *INFER, code=2
    )
    assert said.startswith("launch: error: sbatch: ")
    jobs.wait(lambda: not jobs.run("squeue", "-h"))
    assert "no such job" in jobs.launch("status", "999999", code=2)
    assert "nothing was submitted here" in jobs.launch("logs", "1", "--output", "x", code=2)
