"""A rank that stands still: every rank says where it stands, and the job ends in time."""

from __future__ import annotations

import re
import signal
import time

import pytest

from tests.launching import ROOT, run_ranks
from tests.spdnn.slow_rank import STALL_S
from tests.stopping import outcome, processes, started

DIGITS = ROOT / "hpc" / "samples" / "digits.h5"
MOST_S = STALL_S + 12
"""With the start of Python and MPI, on a busy machine."""


def lines(errors):
    """Return what each rank has said."""
    said = re.findall(r"\[rank (\d+) on \S+\] no progress for (.*)", errors)
    assert len({rank for rank, _ in said}) == len(said), errors
    return {int(rank): text for rank, text in said}


def slow_run(what, network, size, slow, replicas=1):
    began = time.monotonic()
    words = ("-m", "tests.spdnn.slow_rank", what, network, DIGITS, slow, replicas)
    done = run_ranks(size, *words, timeout=60)
    assert time.monotonic() - began < MOST_S
    assert done.returncode not in (0, 124), done.stderr
    return lines(done.stderr)


@pytest.mark.parametrize(("size", "slow"), [(1, 0), (2, 1), (3, 0)])
@pytest.mark.parametrize("what", ["infer", "train"])
def test_a_slow_rank(network, what, size, slow):
    said = slow_run(what, network, size, slow)
    assert sorted(said) == list(range(size))
    assert all(text.startswith("2 s; after step ") for text in said.values())
    assert re.search(r"forward of layer \d, at work, waiting for nobody", said.pop(slow))
    for text in said.values():
        assert f"waiting for rank {slow}" in text or re.search(rf"ranks .*\b{slow}\b", text), text


def test_replicas_are_named_by_their_numbers_in_the_job(network):
    said = slow_run("train", network, 4, 3, replicas=2)
    assert sorted(said) == [0, 1, 2, 3]
    assert "waiting for nobody" in said[3]
    assert "waiting for rank 3" in said[2]
    assert "end of a step, waiting for the other ranks" in said[0]


def test_a_rank_that_does_not_answer(network):
    words = ("train", network, DIGITS, "--batch", 8, "--epochs", 10**6, "--lr", "1e-9", "--quiet")
    with started(2, "spdnn", *words, "--kernel", "scipy", "--stall", "2s") as running:
        for line in running.stdout:
            if line.startswith("epoch"):
                break
        processes(running)[1].send_signal(signal.SIGSTOP)
        began = time.monotonic()
        code, _, errors = outcome(running)
    assert code != 0
    assert time.monotonic() - began < 10
    assert list(lines(errors)) == [0]
    assert "waiting for rank 1" in errors


def test_a_run_that_does_not_stall_is_as_without(network, tmp_path):
    words = ("-m", "hpc", "spdnn", "infer", network, DIGITS, "--scores", "--out")
    for stall in ([], ["--stall", "5m"]):
        done = run_ranks(2, *words, tmp_path / f"{len(stall)}.tsv", *stall)
        assert done.returncode == 0, done.stderr
        assert "progress" not in done.stderr
    assert (tmp_path / "0.tsv").read_bytes() == (tmp_path / "2.tsv").read_bytes()


def test_bad_times_are_refused(network):
    for what in ("infer", "train"):
        done = run_ranks(2, "-m", "hpc", "spdnn", what, network, DIGITS, "--stall", "soon")
        assert done.returncode == 2
        assert done.stderr.count("--stall soon: expected a time") == 1
