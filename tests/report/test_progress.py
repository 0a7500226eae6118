"""The line of a run, by a clock of the test's own."""

from __future__ import annotations

import sys

import pytest

from hpc.report.durations import duration
from hpc.report.gauges import Gauges
from hpc.report.meter import DONE_BEFORE, Course, Looks, Meter
from hpc.report.progress import log_every, progress, watching
from hpc.report.progress_line import plain_text


class Clock:
    """Stands still between two `pass_`."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr("hpc.report.progress.monotonic", lambda: self.now)

    def pass_(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class Kept(list):
    """A sink that keeps its readings."""

    read = list.append


def test_plain_lines_say_how_fast_it_is_and_how_long_it_takes(clock, capsys):
    with progress("infer", 100) as advance:
        clock.pass_(5)
        advance(10, "")
        assert capsys.readouterr().err == ""
        clock.pass_(15)
        advance(30, "loss 1")
    assert capsys.readouterr().err == "infer: 40/100 (40 %), 2 steps/s, loss 1, 30 s left\n"


def test_no_progress_where_none_is_shown(capsys):
    with progress("infer", 10, show=False) as advance:
        advance(10, "")
    assert capsys.readouterr().err == ""


def test_what_gauges_say_is_in_the_line(clock, capsys):
    gauges = Gauges()
    with watching("train", 8, "inputs", 50, gauges=gauges) as advance:
        waited = 0.0
        gauges.waited_s, gauges.loss = lambda: waited, lambda: 0.123456
        clock.pass_(10)
        waited = 2.5
        advance(4, "")
        clock.pass_(10)
        waited = 3.5
        advance(3, "")
    assert capsys.readouterr().err.splitlines() == [
        "train: 4/8 (50 %), 20 inputs/s, loss 0.1235, 25 % waiting, 10 s left",
        "train: 7/8 (87 %), 15 inputs/s, loss 0.1235, 10 % waiting, 3 s left",
    ]


def test_steps_of_before_count_but_took_no_time(clock):
    kept = Kept()
    with watching("train", 100, show=False, sinks=[kept]) as advance:
        clock.pass_(1000)  # of preparation
        advance(60, DONE_BEFORE)
        clock.pass_(4)
        advance(20, "")
    assert [(one.step, one.rate, one.left_s) for one in kept] == [(80, 5.0, 4.0)]


def test_the_end_is_read_even_if_it_comes_early(clock):
    kept = Kept()
    with watching("train", 3, show=False, sinks=[kept]) as advance:
        for _ in range(3):
            clock.pass_(0.04)
            advance(1, "")
    assert [(one.step, round(one.seconds, 2)) for one in kept] == [(3, 0.12)]


def test_nobody_looks_more_often_than_is_due(clock):
    looked = 0

    def loss():
        nonlocal looked
        looked += 1
        return 1.0

    with watching("train", 1000, gauges=Gauges(loss=loss), show=False, sinks=[Kept()]) as advance:
        for _ in range(1000):
            clock.pass_(0.001)
            advance(1, "")
    assert looked <= 11


def test_a_log_thins_out_but_never_falls_silent():
    assert [log_every(s) for s in (0, 50, 100, 5000, 10**6)] == [0.1, 0.1, 0.1, 5.0, 10.0]


def test_readings_without_gauges_and_without_steps():
    meter = Meter(Course("x", 5), Gauges(), 0.0)
    reading = Looks(meter).look(1.0)
    assert (reading.loss, reading.wait, reading.left_s, reading.rate) == (None, None, None, 0.0)
    assert plain_text(reading) == "x: 0/5 (0 %), 0 steps/s"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (99, "99 s"), (125, "2:05 min"), (3600, "1:00 h"), (100000, "27:46 h")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_a_terminal_gets_a_line_that_moves(monkeypatch, clock, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    gauges = Gauges(lambda: 1.0, lambda: 0.5)
    with watching("train", 4, "inputs", 10, gauges=gauges) as advance:
        clock.pass_(2)
        advance(4, "")
    shown = capsys.readouterr().err
    for part in ("train", "4/4", "20 inputs/s", "loss 0.5", "left"):
        assert part in shown
