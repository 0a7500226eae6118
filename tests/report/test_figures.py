"""Quantities, tables, figures and clocks."""

import json
from math import inf, nan

import pytest

from hpc.report.figures import quantity, table, write_json
from hpc.report.stopwatch import Stopwatch


@pytest.mark.parametrize(
    ("value", "text"),
    [(9.29e9, "9.29 Gedges/s"), (12345, "12.3 kedges/s"), (7, "7 edges/s"), (0, "0 edges/s")],
)
def test_three_digits_and_a_prefix(value, text):
    assert quantity(value, "edges/s") == text


def test_columns_are_aligned():
    lines = table(["layer", "words"], [["total", 12], ["1", 3456]]).splitlines()
    assert lines == ["layer  words", "total     12", "1       3456"]


def test_json_is_written_whole_or_not_at_all(tmp_path):
    write_json(tmp_path / "f.json", {"seconds": 1.5})
    assert json.loads((tmp_path / "f.json").read_text()) == {"seconds": 1.5}
    with pytest.raises(TypeError):
        write_json(tmp_path / "g.json", {"bad": object()})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["f.json"]


def test_what_json_lacks_is_null(tmp_path):
    write_json(tmp_path / "f.json", {"losses": [[1.0, nan], (inf,)], "best": {"loss": -inf}})
    found = json.loads((tmp_path / "f.json").read_text(), parse_constant=pytest.fail)
    assert found == {"losses": [[1.0, None], [None]], "best": {"loss": None}}


def test_a_clock_books_each_second_once(monkeypatch):
    times = iter([10.0, 13.0, 14.0, 20.0, 21.0])
    monkeypatch.setattr("hpc.report.stopwatch.perf_counter", lambda: next(times))
    clock = Stopwatch()
    clock.lap("compute")
    clock.lap("wait")
    clock.restart()
    clock.lap("compute")
    assert clock.seconds == {"compute": 4.0, "wait": 1.0}
    assert clock.total() == 5.0 and clock.total("wait") == 1.0 and clock.total("pack") == 0.0


def test_a_clock_books_all_as_one_kind(monkeypatch):
    times = iter([0.0, 1.0, 5.0, 6.0, 8.0, 9.0])
    monkeypatch.setattr("hpc.report.stopwatch.perf_counter", lambda: next(times))
    clock = Stopwatch()
    clock.lap("compute")
    with clock.all_as("validate"):  # begins at 5
        clock.lap("compute")
        clock.lap("wait")
    clock.lap("wait")
    assert clock.seconds == {"compute": 1.0, "validate": 3.0, "wait": 1.0}
    assert clock.waited_s() == 1.0
