"""A watchdog speaks when its rank stands still, and only then."""

from __future__ import annotations

import threading
import time

import pytest

from hpc.comm.standing import Standing
from hpc.comm.watchdog import LEAST_GRACE_S, MOST_GRACE_S, Watchdog, grace_s

STALL_S = 0.4


class Ended(threading.Event):
    """Stands for the end of the job."""


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr("hpc.comm.watchdog.LEAST_GRACE_S", 0.4)


def guarded(standing, rank=0, size=1):
    ended = Ended()
    return Watchdog(standing, STALL_S, (rank, size, "h"), ended.set), ended


@pytest.mark.parametrize(
    ("what", "said"),
    [
        (("forward", 2, lambda: [1]), "after step 12: forward of layer 3, waiting for rank 5"),
        (("loss", -1, lambda: [1, 0]), "after step 12: loss, waiting for ranks 4, 5"),
        (("forward", 0, list), "forward of layer 1, at work, waiting for nobody"),
        (("forward", 0, None), "forward of layer 1, at work, waiting for nobody"),
        (("reading", -1, "all"), "after step 12: reading, waiting for all"),
    ],
)
def test_where_a_rank_stands(what, said):
    standing = Standing()
    standing.base = 4
    standing.count(12)
    standing.at(*what)
    assert standing.text().endswith(said)


def test_a_rank_that_stands_still_speaks_and_ends_the_job(quick, capfd):
    standing = Standing()
    standing.at("forward", 6, lambda: [3])
    began = time.monotonic()
    dog, ended = guarded(standing, rank=2, size=4)
    assert ended.wait(5)
    assert STALL_S + 0.4 <= time.monotonic() - began < 3
    dog.stop()
    said = capfd.readouterr().err
    assert said == (
        "[rank 2 on h] no progress for 0.4 s; after step 0: forward of layer 7, "
        "waiting for rank 3\n"
    )


def test_a_rank_that_moves_is_left_alone(quick, capfd):
    standing = Standing()
    dog, ended = guarded(standing)
    for _ in range(15):
        time.sleep(STALL_S / 4)
        standing.at("forward")
    dog.stop()
    assert not ended.is_set()
    assert capfd.readouterr().err == ""


def test_a_rank_that_rests_is_left_alone(quick, capfd):
    standing = Standing()
    standing.rest()
    dog, ended = guarded(standing)
    time.sleep(4 * STALL_S)
    dog.stop()
    assert not ended.is_set()
    assert capfd.readouterr().err == ""


def test_a_rank_that_goes_on_while_the_others_speak(quick, capfd):
    standing = Standing()
    dog, ended = guarded(standing)
    time.sleep(STALL_S + 0.2)
    standing.at("forward")
    for _ in range(10):
        time.sleep(STALL_S / 4)
        standing.at("forward")
    dog.stop()
    assert not ended.is_set()
    said = capfd.readouterr().err
    assert said.count("no progress") == 1
    assert said.endswith("goes on\n")


def test_a_watch_that_ends_while_a_rank_speaks(quick):
    dog, ended = guarded(Standing())
    time.sleep(STALL_S + 0.2)
    dog.stop()
    time.sleep(0.5)
    assert not ended.is_set()


def test_time_in_which_the_job_was_suspended_does_not_count(quick, monkeypatch):
    jump = [0.0]
    monkeypatch.setattr("hpc.comm.watchdog.monotonic", lambda: time.monotonic() + jump[0])
    standing = Standing()
    dog, ended = guarded(standing)
    for turn in range(12):
        time.sleep(STALL_S / 4)
        standing.at("forward")
        jump[0] += 100.0 * (turn == 5)
    dog.stop()
    assert not ended.is_set()


def test_the_grace_is_a_share_within_bounds():
    assert grace_s(1) == LEAST_GRACE_S
    assert grace_s(120) == 6
    assert grace_s(36000) == MOST_GRACE_S
