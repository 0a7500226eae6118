"""Bad input to `pipebd` is exit code 2 on every rank and one message, from rank 0."""

from __future__ import annotations

import json

import pytest
import torch

from hpc.command_line import main
from tests.launching import run_ranks
from tests.pipebd.small_runs import NAS, VGG, write_images

BLOCKS = "tests.pipebd.user_blocks"


@pytest.fixture
def folder(comm, shared_tmp):
    if comm.rank == 0:
        write_images(shared_tmp / "x.h5", n_train=16, n_test=4)
        write_images(shared_tmp / "tiny.h5", n_train=16, n_test=4, side=8)
    comm.Barrier()
    return shared_tmp


@pytest.fixture
def refused(comm, folder, capsys):
    """Return a function that runs a command on all ranks and returns the one message."""

    def run(command, *options, data="x.h5", batch=4):
        common = ["--data", folder / data, "--batch", batch, "--quiet", "--device", "cpu"]
        capsys.readouterr()
        code = main(["pipebd", command, *map(str, [*common, *options])])
        messages = comm.allgather(capsys.readouterr().err)
        assert comm.allgather(code) == [2] * comm.size, messages
        assert all(message == "" for message in messages[1:])
        assert messages[0].startswith("hpc: error: ")
        assert messages[0].count("\n") == 1, messages[0]
        return messages[0]

    return run


@pytest.fixture
def refused_train(refused):
    def run(*options, workload=VGG, **others):
        first = [workload, "--width", 0.03] if workload else []
        return refused("train", *first, *options, **others)

    return run


@pytest.mark.mpi
def test_names_that_do_not_exist(refused_train):
    message = refused_train("--schedule", "tr", workload="resnet")
    assert "unknown workload 'resnet'; expected vgg16-dsconv or mobilenetv2-proxyless" in message
    message = refused_train("--schedule", "fast")
    assert "unknown schedule 'fast'; expected ahd, tr+dpu, tr, ir, dp, ls" in message


@pytest.mark.mpi
def test_schedules_that_do_not_fit(comm, refused_train):
    last = comm.size - 1
    for schedule, says in [
        (f"0-5@0-{last} 7-12@{last}", "misses block 6"),
        (f"0-5@0-{last}", "misses blocks 6-12"),
        (f"0-13@0-{last}", "names block 13, which does not exist"),
        (f"0-12@0-{comm.size}", f"names rank {comm.size}, which does not exist"),
        (f"0-12@1-{comm.size - 1}", "misses rank 0" if last else "counts down"),
        ("0-12@", "cannot read '0-12@'"),
    ]:
        assert says in refused_train("--schedule", schedule)


@pytest.mark.mpi
def test_more_ranks_in_a_group_than_samples_and_more_groups_than_blocks(comm, refused_train):
    if comm.size < 3:
        return
    data = {"workload": None, "data": "tiny.h5"}
    options = ["--blocks", f"{BLOCKS}:good", "--schedule"]
    message = refused_train(*options, "ir", **data, batch=2)
    assert f"splits a batch of 2 over {comm.size} ranks" in message
    three = f"0@0 1@1 2@2{f'-{comm.size - 1}' if comm.size > 3 else ''}"
    assert "3 groups for 2 blocks" in refused_train(*options, three, **data)


@pytest.mark.mpi
@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"workload": "another"}, "profile of workload 'another'"),
        ({"batch": 12}, "profile of batch 12, the run's is 4"),
        ({}, "profile of 3 blocks, the workload has 13"),
    ],
)
def test_profiles_of_something_else(comm, folder, refused_train, change, says):
    block = {
        "name": "b", "teacher_s": {"4": 1}, "student_s": {"4": 1}, "memory_bytes": {"4": 1},
        "gradient_bytes": 1, "output_bytes": 1,
    }  # fmt: skip
    profile = {
        "batch": 4,
        "ranks": [{"speed": 1}],
        "blocks": [{**block, "load_s": 0}, block, block],
        "allreduce_s": {"2": [0, 0, 0]},
        "relay_s": [0, 0, 0],
        **change,
    }
    if comm.rank == 0:
        (folder / "p.json").write_text(json.dumps(profile))
    comm.Barrier()
    assert says in refused_train("--schedule", "ahd", "--profile", folder / "p.json")


@pytest.mark.mpi
def test_blocks_that_cannot_be_used(comm, refused_train):
    def blocks(name):
        return refused_train("--blocks", f"{BLOCKS}:{name}", workload=None, data="tiny.h5")

    message = blocks("misshapen")
    assert "block 0 (block0): the student's output has shape (5, 6, 6)" in message
    assert "expected the teacher's (4, 6, 6)" in message
    assert "RuntimeError: no such teacher" in blocks("raising")
    assert "returned a str, expected a list of BlockPair" in blocks("nothing")
    assert "the student makes torch.float64 of torch.float32" in blocks("other_dtype")
    assert "block 1 (b): its student shares parameters with that of block 0 (a)" in blocks("shared")
    if comm.size > 1:
        assert "--blocks gives rank 1 1 blocks" in blocks("by_rank")
    message = refused_train("--blocks", f"{BLOCKS}:good", data="tiny.h5")
    assert "either one of the workloads" in message
    message = refused_train("--blocks", f"{BLOCKS}:good", workload=None)
    assert "block 1 (block1): its input has shape (4, 30, 30)" in message


@pytest.mark.mpi
def test_teachers_and_data_that_do_not_fit(comm, folder, refused_train):
    if comm.rank == 0:
        state = {"features.0.weight": torch.zeros(1), "extra": torch.zeros(1)}
        torch.save(state, folder / "t.pt")
    comm.Barrier()
    message = refused_train("--teacher", folder / "t.pt", "--schedule", "tr")
    assert "t.pt: not this teacher's weights: missing" in message
    assert "unexpected extra" in message
    assert "none.pt: no such file" in refused_train("--teacher", folder / "none.pt")
    message = refused_train("--schedule", "tr", data="tiny.h5")
    assert "images of shape (3, 8, 8), block 0 of vgg16-dsconv in cifar shape takes" in message
    message = refused_train("--schedule", "tr", batch=17)
    assert "16 training images, a batch takes 17" in message
    assert "vgg16-dsconv cifar width 0.03 is not a search" in refused_train("--flops-weight", 1)


@pytest.mark.mpi
@pytest.mark.parametrize("share", ["0", "1", "-0.5", "nan"])
def test_a_search_without_images_for_its_architecture(refused_train, share):
    """It would train its architecture on those that --validation holds out."""
    options = ["--architecture-share", share, "--validation", 0.5]
    message = refused_train(*options, workload=NAS)
    assert f"--architecture-share {share}: a search needs training images of its own" in message


@pytest.mark.mpi
def test_what_other_commands_refuse(comm, folder, refused):
    if comm.rank == 0:
        torch.save({"a": torch.zeros(1)}, folder / "no.pt")
        torch.save({1: torch.zeros(1)}, folder / "number.pt")
        (folder / "cut.pt").write_bytes((folder / "no.pt").read_bytes()[:-200])
        (folder / "found.json").write_text('{"blocks": []}')
    comm.Barrier()
    assert "no.pt: not a student file" in refused("finetune", folder / "no.pt")
    assert "none.pt: no such file" in refused("evaluate", folder / "none.pt")
    for damaged in ("no.pt", "x.h5", "cut.pt", "number.pt"):
        message = refused("train", VGG, "--teacher", folder / damaged, "--width", 0.03)
        assert damaged in message and "weights_only" not in message
    assert "expected positive, finite numbers" in refused("teacher", VGG, "--width", "inf")
    message = refused("teacher", "mobilenetv2-proxyless", "--no-batch-norm")
    assert "mobilenetv2-proxyless does not take batch_norm; its options: none" in message
    assert "--threads 5000: expected at most 1024" in refused("teacher", VGG, "--threads", 5000)
    assert "--validation nan: expected a share" in refused("teacher", VGG, "--validation", "nan")
    message = refused("teacher", VGG, "--lr", 0)
    assert "--lr 0.0: expected a positive number" in message
    message = refused("teacher", VGG, "--out", folder / "no" / "t.pt")
    assert "does not exist" in message
    message = refused("retrain", VGG, "--architecture", folder / "found.json")
    assert "is not a search" in message


def test_what_is_missing_or_unknown_on_the_command_line(capsys):
    for words, says in [
        (["train", VGG], "--data FILE.h5 is needed"),
        (
            ["train", VGG, "--fast"],
            "unrecognized arguments: --fast; valid options: --help --blocks",
        ),
        (["train", VGG, "--fast"], " --config --version (see python -m hpc pipebd train --help"),
        (["evaluate", "s.pt"], "--data"),
        (["train", VGG, "--seed", "-1"], "argument --seed: invalid seed value: '-1'"),
    ]:
        assert main(["pipebd", *words]) == 2
        assert says in capsys.readouterr().err


@pytest.mark.mpi
@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_cuda_without_a_device(refused):
    message = refused("train", VGG, "--device", "cuda")
    assert "--device cuda: rank 0 has no CUDA device" in message


@pytest.mark.parametrize("schedule", ["0@0 1@1", "dp"])
def test_a_loss_that_is_not_finite_ends_all_ranks(tmp_path, schedule):
    """By Abort, so it takes a launch of its own."""
    ran = run_ranks(
        2, "-m", "hpc", "pipebd", "train", "--blocks", f"{BLOCKS}:diverging",
        "--schedule", schedule, "--data", write_images(tmp_path / "x.h5", 16, 4, side=8),
        "--batch", 4, "--epochs", 3, "--quiet", "--device", "cpu",
    )  # fmt: skip
    assert ran.returncode not in (0, 124), ran.stderr
    assert "the loss of block 1 (block1) is" in ran.stderr
    assert "in step 3 of epoch 1 on rank" in ran.stderr
