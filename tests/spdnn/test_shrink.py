"""`spdnn train --on-failure shrink`: ranks die, and the others come to the right answer."""

from __future__ import annotations

import platform
import signal

import h5py
import numpy as np
import pytest

from tests.launching import ROOT, run_alone, run_ranks
from tests.stopping import outcome, processes, started
from tests.survivors import BEGAN, SHRINK, ULFM, began_there, needs_ulfm, outlived

DIGITS = ROOT / "hpc" / "samples" / "digits.h5"
HOST = platform.node()
GO_ON = "from the newest complete checkpoint, if there is one"


def words(network, root, out, *more):
    return [
        "spdnn", "train", network, DIGITS, "--epochs", 8, "--batch", 25, "--lr", 1e-3,
        "--optimizer", "adam", "--quiet", "--out", out, "--checkpoint", root,
        "--every", "10steps", *more,
    ]  # fmt: skip


def plan(network, path, parts):
    options = ("--parts", parts, "--method", "random", "--seed", parts, "--out", path)
    ran = run_alone("-m", "partition", "build", network, *options)
    assert ran.returncode == 0, ran.stderr
    return path


def same(ours, theirs):
    with h5py.File(ours) as mine, h5py.File(theirs) as other:
        for name in ("data", "bias"):
            np.testing.assert_array_equal(mine[name][:], other[name][:])


@needs_ulfm
@pytest.mark.parametrize(
    ("size", "dead", "said"),
    [
        (3, [1], [f"rank 1 on {HOST} died; ranks 0, 2 go on {GO_ON}"]),
        (2, [0], [f"rank 0 on {HOST} died; rank 1 goes on alone {GO_ON}"]),
        (
            4,
            [0, 2],
            [
                f"rank 0 on {HOST} died; ranks 1, 2, 3 go on {GO_ON}",
                f"rank 2 on {HOST} died; ranks 1, 3 go on {GO_ON}",
            ],
        ),
    ],
)
def test_the_answer_is_that_of_fewer_ranks(tmp_path, network, size, dead, said):
    root, out, other = tmp_path / "c", tmp_path / "o.h5", tmp_path / "w.h5"
    output, died = outlived(size, words(network, root, out), root, dead)
    assert died == said
    began_there(size - len(dead), words(network, root, other), output, root, tmp_path / "d")
    same(out, other)


@needs_ulfm
def test_a_spare_plan_is_for_those_that_are_left(tmp_path, network):
    """Two replicas of two ranks; of three ranks one replica is made, and its plan is there."""
    plans = {parts: plan(network, tmp_path / f"{parts}.h5", parts) for parts in (1, 2, 3)}
    spares = [word for parts in (1, 3) for word in ("--spare-plan", plans[parts])]
    root, out, other = tmp_path / "c", tmp_path / "o.h5", tmp_path / "w.h5"
    began = words(network, root, out, "--plan", plans[2], "--replicas", 2, *spares)
    output, died = outlived(4, began, root, [3])
    assert len(died) == 1
    left = words(network, root, other, "--plan", plans[3])
    began_there(3, left, output, root, tmp_path / "d")
    same(out, other)
    blocks = tmp_path / "b.h5"
    began_there(3, words(network, root, blocks), output, root, tmp_path / "e")
    with pytest.raises(AssertionError):
        same(out, blocks)


@needs_ulfm
def test_survivors_of_a_fresh_run_leave_an_older_one_alone(tmp_path, network):
    """A rank dies before there is a checkpoint of this run: those that are left begin anew."""
    root, out, other = tmp_path / "c", tmp_path / "o.h5", tmp_path / "w.h5"
    assert run_ranks(2, "-m", "hpc", *words(network, root, other)).returncode == 0
    fresh = words(network, root, out, "--fresh", "--every", "100000steps")
    with started(3, *fresh, *SHRINK, launcher=ULFM) as running:
        for line in running.stdout:
            if line.startswith("epoch"):
                break
        processes(running)[1].send_signal(signal.SIGKILL)
        code, output, errors = outcome(running)
    assert code == 0, errors
    assert "rank 1 on" in errors
    assert not BEGAN.findall(output)
    same(out, other)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ([], "--on-failure shrink: is for runs with --checkpoint DIR"),
        (["--checkpoint", "c", "--spare-plan", "none.h5"], "none.h5: no such file"),
        (
            ["--checkpoint", "c", "--on-failure", "abort", "--spare-plan", "p.h5"],
            "--spare-plan: is",
        ),
    ],
)
def test_bad_input(network, options, expected):
    ran = run_ranks(
        2, "-m", "hpc", "spdnn", "train", network, DIGITS, "--on-failure", "shrink", *options
    )
    assert ran.returncode == 2
    assert ran.stderr.count("hpc: error: ") == 1
    assert expected in ran.stderr


def test_without_ulfm_it_says_so(tmp_path, network):
    short = ["--epochs", 1, "--on-failure", "shrink"]
    ran = run_ranks(2, "-m", "hpc", *words(network, tmp_path / "c", tmp_path / "o.h5", *short))
    assert ran.returncode == 0, ran.stderr
    said = [line for line in ran.stderr.splitlines() if line.startswith("hpc:")]
    assert len(said) == 1
    assert "a death ends the job, and the same command goes on from the newest" in said[0]
