"""Marks of axes: round, covering, not too many; their labels differ and say what is there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as some

from hpc.report.page.ticks import log_ticks, tick_texts, ticks

NUMBERS = some.floats(-1e9, 1e9).filter(lambda x: x == 0 or abs(x) > 1e-9)


def apart(low, high):
    return high - low > 1e-6 * max(abs(low), abs(high))


@given(NUMBERS, NUMBERS)
def test_marks_cover_and_are_few(one, other):
    low, high = min(one, other), max(one, other)
    marks = ticks(low, high)
    step = marks[1] - marks[0]
    assert marks[0] <= low + 1e-6 * step or not apart(low, high)
    assert marks[-1] >= high - 1e-6 * step or not apart(low, high)
    assert 2 <= len(marks) <= 9


@given(some.integers(0, 10**6), some.integers(1, 10**6))
def test_whole_marks_are_whole_and_their_labels_differ(low, length):
    marks = ticks(low, low + length, 8, whole=True)
    assert all(mark == int(mark) for mark in marks)
    assert len(set(tick_texts(marks))) == len(marks)


@given(some.floats(1e-6, 1e6), some.floats(1.5, 1e9))
def test_logarithmic_marks_cover(low, ratio):
    marks = log_ticks(low, low * ratio)
    assert marks[0] <= low * 1.0001 and low * ratio <= marks[-1] * 1.0001
    assert 2 <= len(marks) <= 14
    assert marks == sorted(set(marks))


@pytest.mark.parametrize("value", [0.0, 5e-324, 1e-300, 1e300])
def test_the_least_and_the_largest_have_marks(value):
    assert ticks(0.0, value)[-1] >= value and len(ticks(0.0, value)) >= 2
    assert log_ticks(1e-290, 1e300)[-1] >= 1e300


def test_by_hand():
    assert ticks(0, 0.7) == [0.0, 0.2, 0.4, 0.6000000000000001, 0.8]
    assert log_ticks(0.03, 4) == [0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
    assert tick_texts([0, 0.25, 0.5]) == ["0", "0.25", "0.50"]
    assert tick_texts([0, 20000, 40000]) == ["0", "20k", "40k"]
    assert tick_texts([0, 0.5, 1], percent=True) == ["0 %", "50 %", "100 %"]
