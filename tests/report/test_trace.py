"""Traces: the file as Chrome reads it, and what is worked out from one, against hand counts."""

from __future__ import annotations

import json

import pytest

from hpc.io.errors import FormatError
from hpc.report.trace import (
    Span,
    SpanLog,
    Trace,
    Window,
    idle_shares,
    measured,
    read_trace,
    start_of,
    steady,
    step_s,
    write_trace,
)

WAITING = ("receive",)


def regular(steps=10):
    """Rank 0 works 4 s a step; rank 1 waits 1 s, works 3 s, and is 2 s behind."""
    spans = []
    for step in range(steps):
        at = 100.0 + 4 * step
        spans += [
            Span(0, "teacher", step, 0, at, at + 1),
            Span(0, "student", step, 0, at + 1, at + 4),
        ]
        spans += [
            Span(1, "receive", step, 1, at + 2, at + 3),
            Span(1, "student", step, 1, at + 3, at + 6),
        ]
    return Trace(tuple(spans))


def test_the_file_is_what_chrome_and_perfetto_expect(tmp_path):
    path = tmp_path / "t.json"
    write_trace(path, Trace((Span(2, "teacher", 7, 3, 10.0, 10.5),), {"schedule": "0@0"}))
    data = json.loads(path.read_text())
    assert data["displayTimeUnit"] == "ms"
    assert data["otherData"] == {"schedule": "0@0"}
    named, event = data["traceEvents"]
    assert named == {
        "ph": "M", "name": "thread_name", "pid": 0, "tid": 2, "args": {"name": "rank 2"}
    }  # fmt: skip
    assert event == {
        "ph": "X", "name": "teacher 3", "cat": "teacher", "pid": 0, "tid": 2,
        "ts": 0.0, "dur": 500000.0, "args": {"step": 7, "block": 3},
    }  # fmt: skip


def test_what_is_written_is_read(tmp_path):
    path = tmp_path / "t.json"
    trace = regular()
    write_trace(path, trace)
    found = read_trace(path)
    for mine, theirs in zip(found.spans, trace.spans, strict=True):
        assert mine[:4] == theirs[:4]
        assert mine[4:] == pytest.approx((theirs.start_s - 100, theirs.end_s - 100))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not a trace"),
        ("[]", "not a trace"),
        ("{}", "not a trace of a run, or damaged"),
        ('{"traceEvents": [{"ph": "X", "ts": "a"}]}', "not a trace"),
        ('{"traceEvents": [{"ph": "M"}]}', "without any span"),
        ('{"traceEvents": [], "otherData": {"step_s": "a"}}', "not a trace"),
        ('{"traceEvents": [], "otherData": {"step_s": 1, "idle": [-1]}}', "not a trace"),
        (None, "cannot be read"),
    ],
)
def test_bad_files(tmp_path, text, message):
    path = tmp_path / "t.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_trace(path)


def test_a_log_keeps_the_last_spans_in_order_and_shifts_them():
    log = SpanLog(3, kept=2)
    for step in range(4):
        with log.span("load", step, 5):
            pass
    found = log.spans()
    assert [(s.rank, s.kind, s.step, s.block) for s in found] == [
        (3, "load", 2, 5),
        (3, "load", 3, 5),
    ]
    assert found[0].start_s <= found[0].end_s <= found[1].start_s
    assert log.spans(2.0)[0].end_s == pytest.approx(found[0].end_s + 2.0)


def test_steady_leaves_out_both_ends():
    assert steady(regular()) == Window(1, 8)
    assert steady(regular(), most=3) == Window(3, 6)
    assert len(steady(regular(steps=1))) == 0


def test_steps_begin_where_their_first_span_does():
    assert start_of(regular(), 2) == {0: 108.0, 1: 110.0}


def test_step_time_and_idle_shares():
    trace = regular()
    window = steady(trace)
    assert step_s(trace, window) == pytest.approx(4.0)
    assert idle_shares(trace, window, WAITING) == pytest.approx((0.0, 0.25))


def test_the_runs_own_figures_come_first():
    trace, window = regular(), Window(1, 8)
    assert measured(trace, window, WAITING) == (pytest.approx(4.0), pytest.approx((0.0, 0.25)))
    told = Trace(trace.spans, {"step_s": 5.0, "idle": [0.5, 0.75]})
    assert measured(told, window, WAITING) == (5.0, (0.5, 0.75))


def test_rounds_of_a_block_after_another_are_counted_on(tmp_path):
    """Rank 0 has lost the first round of its first block; both are then at the second block."""
    steps = {0: (1, 2, 0, 1, 2), 1: (0, 1, 2, 0, 1, 2)}
    spans = [
        Span(rank, "student", step, place // 3, float(place), place + 1.0)
        for rank, mine in steps.items()
        for place, step in enumerate(mine)
    ]
    write_trace(tmp_path / "t.json", Trace(tuple(spans)))
    found = read_trace(tmp_path / "t.json")
    assert [span.step for span in found.spans] == [1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]
    assert start_of(found, 4) == {0: 3.0, 1: 4.0}


def test_a_rank_without_spans_is_idle():
    trace = Trace(regular().spans, {"ranks": 3})
    assert idle_shares(trace, steady(trace), WAITING) == pytest.approx((0.0, 0.25, 1.0))
