"""The log: every line is JSON, whatever happened before; a full disk ends the log, not the run."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from math import inf, nan

import pytest

from hpc.io.errors import InputError
from hpc.report.event_log import EventLog, check_log
from hpc.report.meter import Course, Reading

AT = datetime(2026, 1, 2, 3, 4, 5, 6000, UTC)


def records(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_events_are_on_disk_at_once(tmp_path):
    path = tmp_path / "log.jsonl"
    log, time = EventLog(path, lambda: AT), "2026-01-02T03:04:05.006+00:00"
    log.write("start", ranks=2)
    assert records(path) == [{"time": time, "event": "start", "ranks": 2}]
    log.read(Reading(Course("train", 10, "inputs", 5), 3, 1.23456, 12.3456789, 0.5, 0.25, 2.0))
    log.close()
    assert records(path)[1] == {
        "time": time, "event": "progress", "what": "train", "step": 3,
        "of": 10, "seconds": 1.235, "rate": 12.3457, "unit": "inputs/s", "loss": 0.5,
        "wait": 0.25, "left_s": 2.0,
    }  # fmt: skip


def test_what_is_not_known_is_left_out_and_what_json_lacks_is_null(tmp_path):
    path = tmp_path / "log.jsonl"
    log = EventLog(path)
    log.read(Reading(Course("train", 10), 0, 1.0, 0.0, None, None, None))
    log.write("epoch", loss=nan, losses=[1.0, inf], deep={"x": -inf})
    first, second = records(path)
    assert not {"loss", "wait", "left_s", "note"} & set(first)
    assert (second["loss"], second["losses"], second["deep"]) == (None, [1.0, None], {"x": None})


def test_a_log_is_gone_on_with_on_a_line_of_its_own(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"time": "", "event": "start"}\n{"time": "", "event": "prog')  # killed
    EventLog(path).write("start")
    lines = path.read_text().splitlines()
    assert lines[1] == '{"time": "", "event": "prog' and json.loads(lines[2])["event"] == "start"


def test_a_full_disk_is_said_once(capsys):
    log = EventLog("/dev/full")
    log.write("start")
    log.write("end")
    log.close()
    assert capsys.readouterr().err == (
        "hpc: warning: /dev/full: No space left on device; the run goes on without this log\n"
    )


def test_what_cannot_be_written(tmp_path):
    for path in (tmp_path / "nowhere" / "log.jsonl", tmp_path):
        with pytest.raises(InputError, match="cannot be written"):
            check_log(path)
    check_log(tmp_path / "log.jsonl")
    assert not list(tmp_path.iterdir())


def test_only_to_a_log_is_appended(tmp_path):
    path = tmp_path / "net.h5"
    path.write_bytes(b"\x89HDF")
    with pytest.raises(InputError, match="is there already and is no log"):
        check_log(path)
    assert path.read_bytes() == b"\x89HDF"
    for start in (b"", b'{"ti', b'{"time": "2026-01-02T03:04:05.006+00:00", "event": "start"}\n'):
        path.write_bytes(start)
        check_log(path)
