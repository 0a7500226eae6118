"""Ranks that die or fail while others wait for them: all that live go on, or all end."""

from __future__ import annotations

import platform
import sys

import pytest

from hpc.comm.ending import SWITCH, outlived
from hpc.comm.survival_vote import Vote, verdict
from hpc.comm.survival_words import Rank, cannot, died
from tests.launching import run_command
from tests.stopping import MPIRUN
from tests.survivors import ULFM, needs_ulfm

pytestmark = pytest.mark.launches
HOST = platform.node()
DEATH = f"hpc: rank 1 on {HOST} died; "
GO_ON = f"{DEATH}ranks 0, 2, 3 go on from the newest complete checkpoint, if there is one\n"
WAYS = (
    "recv", "waitany", "persistent", "allreduce", "iallreduce", "planned sum", "dup", "elsewhere",
)  # fmt: skip
SUM = sorted(f"rank {rank} of 3: 6" for rank in range(3))
BUG = f"[rank 1 on {HOST}] uncaught exception\n"


def mortal(*words):
    """Run `tests.comm.mortal` on four ranks that may outlive each other."""
    return run_command([*ULFM, 4, sys.executable, "-m", "tests.comm.mortal", *words], timeout=30)


@needs_ulfm
@pytest.mark.parametrize("way", [*WAYS, "last"])
def test_the_others_go_on(way):
    ran = mortal("shrink", way, "sum")
    assert ran.returncode == 0, ran.stderr
    assert sorted(ran.stdout.splitlines()) == SUM
    assert GO_ON in ran.stderr
    assert ran.stderr.count("hpc:") == 1


@needs_ulfm
@pytest.mark.parametrize("way", ["none", "recv"])
@pytest.mark.parametrize(
    ("then", "code", "said"),
    [
        ("bug", 1, BUG),
        ("input", 2, "[rank 1] hpc: error: rank 1 alone is wrong\n"),
        ("agreed", 2, "hpc: error: all are wrong\n"),
        ("stopped", 3, "hpc: stopped by SIGUSR1\n"),
    ],
)
def test_all_end(way, then, code, said):
    """Also after a death; the rank that a death makes the first speaks for all."""
    ran = mortal("shrink", way, then)
    assert ran.returncode == code, ran.stderr
    before, found, _ = ran.stderr.partition(said)
    assert before == ("" if way == "none" else GO_ON)
    assert found
    assert ran.stderr.count("Traceback") == (then == "bug")
    assert ran.stderr.count("hpc:") == (way != "none") + (then != "bug")


@needs_ulfm
@pytest.mark.parametrize(
    ("way", "then", "code", "said"),
    [
        ("none", "sum", 0, ""),
        ("none", "bug", 1, BUG),
        ("none", "input", 2, "[rank 1] hpc: error: rank 1 alone is wrong\n"),
        ("elsewhere", "sum", 1, f"{DEATH}the job ends\n"),
    ],
)
def test_nobody_is_left_waiting_where_nothing_is_to_go_on(way, then, code, said):
    """MPI's Abort would end one rank only, and the job with exit code 0."""
    ran = mortal("abort", way, then)
    assert ran.returncode == code, ran.stderr
    assert said in ran.stderr
    assert ran.stderr.count("hpc:") + ran.stderr.count("Traceback") == bool(said)


@needs_ulfm
def test_without_the_option_of_mpirun_there_is_one_attempt():
    command = [MPIRUN, "-n", 4, sys.executable, "-m", "tests.comm.mortal", "shrink", "none", "sum"]
    ran = run_command(command, timeout=30)
    assert ran.returncode == 0
    assert ran.stderr == f"hpc: {cannot('not switched on', '')}\n"


def test_verdicts():
    all_well = Vote.ALL
    assert [verdict(all_well, code) for code in (0, 2, 3)] == [0, 2, 3]
    assert verdict(all_well & ~Vote.WHOLE, 0) is None
    assert verdict(all_well & ~Vote.WHOLE, 3) == 3
    assert verdict(all_well & ~Vote.ENDED, 0) is None
    assert verdict(all_well & ~Vote.ENDED & ~Vote.FED, 0) == 2
    assert verdict(all_well & ~Vote.ENDED & ~Vote.FED & ~Vote.SOUND, 0) == 1


def test_words():
    ranks = [Rank(number, f"node{number // 2}") for number in range(4)]
    assert died(ranks[:1], ranks[1:]).startswith("rank 0 on node0 died; ranks 1, 2, 3 go on from")
    two = died(ranks[1:3], ranks[3:])
    assert two.startswith("rank 1 on node0, rank 2 on node1 died; rank 3 goes on alone from")
    assert died(ranks[3:], ranks[:3], again=False) == "rank 3 on node1 died; the job ends"
    assert "MPICH 5.0.2 has no ULFM" in cannot("no", "MPICH 5.0.2")
    assert "mpirun --with-ft ulfm" in cannot("not switched on", "Open MPI 5.0.11")


@pytest.mark.parametrize(("value", "found"), [("1", True), ("true", True), ("0", False)])
def test_what_the_launcher_says(monkeypatch, value, found):
    monkeypatch.delenv(SWITCH, raising=False)
    assert not outlived()
    monkeypatch.setenv(SWITCH, value)
    assert outlived() == found
