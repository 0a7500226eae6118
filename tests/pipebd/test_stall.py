"""`--stall`: whom a rank waits for in each kind of span, and runs in which one goes to sleep."""

from __future__ import annotations

import json
import re
import time

import pytest

from hpc.pipebd.names import Choice
from hpc.pipebd.recorder import Kind
from hpc.pipebd.schedule import parse
from hpc.pipebd.standing_spans import awaited_by
from tests.launching import run_ranks
from tests.pipebd.profile_cases import plain
from tests.pipebd.small_runs import write_images

STALL_S = 2
MOST_S = STALL_S + 20
"""With the start of Python, torch and MPI, on a busy machine."""


def waiting(choice, rank, size):
    found = awaited_by(choice, rank, size)
    return {kind: list(who()) for kind, who in found.items() if not isinstance(who, str)}


def test_for_whom_a_rank_waits():
    choice = Choice("given", parse("0-1@0-1 2@2 3@3-4 (6 ranks, 1 idle)"))
    assert waiting(choice, 0, 6) == {
        Kind.REDUCE: [1], Kind.BARRIER: [1, 2, 3, 4], Kind.SEND: [2],
    }  # fmt: skip
    assert waiting(choice, 2, 6) == {
        Kind.REDUCE: [], Kind.BARRIER: [0, 1, 3, 4], Kind.RECEIVE: [0, 1], Kind.SEND: [3, 4],
    }  # fmt: skip
    assert waiting(choice, 4, 6)[Kind.RECEIVE] == [2]
    assert Kind.SEND not in waiting(choice, 4, 6)
    assert waiting(choice, 5, 6) == {}
    assert waiting(Choice("dp", None), 1, 3) == {Kind.REDUCE: [0, 2]}
    assert waiting(Choice("ls", None), 1, 3) == {}


def stalled(size, *words):
    """Run a training that stalls; return what each rank has said."""
    began = time.monotonic()
    words = ("-m", "hpc", "pipebd", "train", *words, "--stall", f"{STALL_S}s", "--quiet")
    done = run_ranks(size, *words, timeout=90)
    assert time.monotonic() - began < MOST_S
    assert done.returncode not in (0, 124), done.stdout + done.stderr
    found = re.findall(r"\[rank (\d+) on \S+\] no progress for (.*)", done.stderr)
    return {int(rank): text for rank, text in found}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "x.h5", n_train=80)


@pytest.mark.parametrize(
    ("schedule", "said"),
    [
        ("0@0 1@1", {0: "send of block 1, waiting for rank 1", 1: "student of block 2, at work"}),
        ("dp", {0: "reduce of block 2, waiting for rank 1", 1: "student of block 2, at work"}),
    ],
)
def test_training(images, schedule, said):
    words = ("--blocks", "tests.pipebd.slow_blocks:pairs", "--data", images, "--batch", 8)
    found = stalled(2, *words, "--schedule", schedule, "--device", "cpu", "--epochs", 3)
    assert sorted(found) == [0, 1]
    for rank, text in said.items():
        assert text in found[rank], found


def slow_profile(path, block, n_ranks):
    """Write a profile of which one block's student takes an hour."""
    data = plain(n_ranks=n_ranks)
    times = data["blocks"][block]["student_s"]
    times.update(dict.fromkeys(times, 3600.0))
    path.write_text(json.dumps(data))
    return path


def test_an_emulation_and_an_idle_rank(tmp_path):
    profile = slow_profile(tmp_path / "p.json", 1, 4)
    schedule = "0@0 1@1 2@2 (4 ranks, 1 idle)"
    found = stalled(4, "--emulate", profile, "--schedule", schedule)
    assert sorted(found) == [0, 1, 2]  # nothing is expected of the one that is idle
    assert "student of block 2, at work, waiting for nobody" in found[1]
    assert "send of block 1, waiting for rank 1" in found[0]
    assert "waiting for rank 1" in found[2]


def test_a_rank_that_has_done_its_blocks_may_wait(tmp_path):
    data = plain(n_blocks=2, n_ranks=2)
    times = data["blocks"][1]["student_s"]
    times.update(dict.fromkeys(times, 0.6))
    (tmp_path / "p.json").write_text(json.dumps(data))
    words = ("pipebd", "train", "--emulate", tmp_path / "p.json", "--schedule", "ls", "--steps", 4)
    done = run_ranks(2, "-m", "hpc", *words, "--stall", "1.2s")
    assert done.returncode == 0, done.stderr
    assert "no progress" not in done.stderr
