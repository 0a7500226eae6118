"""The commands in a row, in one process: teacher, train, finetune, evaluate; search, retrain."""

from __future__ import annotations

import json

import pytest
import torch

from hpc.command_line import main
from hpc.pipebd.student_file import read_student
from tests.pipebd.small_runs import NAS, VGG, write_images


@pytest.fixture
def command(comm, shared_tmp, capsys):
    """Return a function that runs a command in the folder of the test and returns its figures."""

    def run(what, *options, side=32, batch=5):
        path = shared_tmp / f"x{side}.h5"
        if comm.rank == 0 and not path.exists():
            write_images(path, n_train=16, n_test=6, side=side)
        comm.Barrier()
        common = ["--data", path, "--batch", batch, "--quiet", "--device", "cpu"]
        figures = ["--json", shared_tmp / "f.json"]
        assert main(["pipebd", what, *map(str, [*options, *common, *figures])]) == 0
        comm.Barrier()
        found = json.loads((shared_tmp / "f.json").read_text())
        comm.Barrier()
        return found, capsys.readouterr().out

    return run


@pytest.mark.mpi
def test_compression(comm, command, shared_tmp):
    sized = [VGG, "--width", 1 / 32]
    teacher, student, tuned = (shared_tmp / f"{name}.pt" for name in ("t", "s", "f"))
    trained, _ = command("teacher", *sized, "--epochs", 2, "--out", teacher)
    assert trained["steps"] == 6
    run, text = command(
        "train", *sized, "--teacher", teacher, "--schedule", "tr+dpu", "--epochs", 2,
        "--out", student, "--trace", shared_tmp / "trace.json",
    )  # fmt: skip
    assert (run["steps"], run["ranks"], len(run["idle"])) == (6, comm.size, comm.size)
    assert run["teacher_accuracy"] == trained["accuracy"]
    assert [len(losses) for losses in run["losses"]] == [13, 13]
    assert run["predicted_step_s"] is None
    if comm.rank == 0:
        assert "epoch   2  losses" in text and "warning" not in text
    command("finetune", student, "--epochs", 1, "--out", tuned)
    found, _ = command("evaluate", student, "--teacher", teacher)
    assert found["accuracy"] == {
        "student": run["accuracy"], "teacher": run["teacher_accuracy"],
    }  # fmt: skip
    weights = [read_student(path, torch.float32)[1].state_dict() for path in (student, tuned)]
    key = "12.1.weight"
    assert not torch.equal(weights[0][key], weights[1][key])


@pytest.mark.mpi
def test_a_profile_is_taken_where_the_schedule_needs_one(comm, command, shared_tmp):
    options = ["--blocks", "tests.pipebd.user_blocks:good", "--profile-steps", 1]
    run, text = command("train", *options, "--schedule", "ahd", "--epochs", 1, side=8)
    assert run["predicted_step_s"] > 0
    assert len(run["predicted_idle"]) == comm.size
    assert run["accuracy"] is None
    if comm.rank == 0:
        assert "predicted" in text
    run, _ = command("train", *options, "--schedule", "ls", "--epochs", 1, side=8)
    assert run["predicted_step_s"] > 0


@pytest.mark.mpi
def test_search(comm, command, shared_tmp):
    sized = [NAS, "--width", 0.05]
    found, student = shared_tmp / "found.json", shared_tmp / "s.pt"
    run, _ = command(
        "train", *sized, "--schedule", "tr", "--epochs", 2, "--architecture-every", 1,
        "--architecture-first", 0, "--architecture-share", 0.35, "--architecture-out", found,
        "--out", student,
    )  # fmt: skip
    assert run["barrier"] is True
    assert [len(block) for block in run["architecture"]] == [2, 4, 4, 4, 4, 1]
    assert json.loads(found.read_text())["blocks"] == run["architecture"]
    recipe, _ = read_student(student, torch.float32)
    assert json.loads(json.dumps(recipe.architecture)) == run["architecture"]
    again, _ = command("retrain", *sized, "--architecture", found, "--epochs", 1, "--out", student)
    assert again["steps"] == 3
    command("evaluate", student)
