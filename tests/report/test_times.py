"""Which time and which idle share is which: a page says it, and its figures agree."""

from __future__ import annotations

import json
import re

import pytest

from hpc.report.page.run_data import RunData
from hpc.report.page.whole_time import bars_against, whole_time
from tests.report.reporting import figures, page

WAITING = ("receive", "send", "barrier")


def kinds(read):
    """Return the bars' rows as kind to seconds, rank by rank."""
    names = [head.split()[0] for head in read.heads["time"]]
    return [dict(zip(names, row, strict=True)) for row in read.tables["time"]]


def test_validation_has_a_part_of_its_own_in_the_bars_and_is_in_no_other(trained):
    """So the slowest rank's steps take no longer than the head of the page says."""
    run, found, _ = trained
    read = page(run)
    seconds = read.tiles["training steps"]
    assert seconds == found["seconds"] == pytest.approx(sum(e["seconds"] for e in found["history"]))
    bars = kinds(read)
    assert [bar["validate"] for bar in bars] == found["validate_s"] and min(found["validate_s"]) > 0
    steps = [bar["all"] - bar["validate"] for bar in bars]
    assert 0.5 * seconds < max(steps) <= seconds * (1 + 1e-9)
    assert "'validate' stands only here" in read.captions["time"]


def test_the_time_of_an_inference_is_the_bars_without_reading(inferred):
    read = page(inferred)
    steps = [bar["all"] - bar["read"] for bar in kinds(read)]
    assert max(steps) == pytest.approx(read.tiles["inference"])
    assert read.tiles["inference"] == figures(inferred)["seconds"]
    assert "'read' stands only here" in read.captions["time"]


def test_the_time_of_a_relay_is_without_validation(distilled):
    read = page(distilled)
    seconds = read.tiles["training steps"]
    assert seconds == figures(distilled)["seconds"]
    bars = kinds(read)
    assert all(bar["validate"] > 0 for bar in bars)
    assert max(bar["all"] - bar["validate"] for bar in bars) <= seconds
    assert read.tiles["step"] == figures(distilled)["step_s"]


def test_a_run_without_figures_has_the_time_of_the_whole_command(relayed):
    read = page(relayed)
    assert read.tiles["whole command"] == figures(relayed, "run")["seconds"]
    assert "is of the first rank, start and end included." in read.captions["time"]
    time = whole_time(RunData({"command": "pipebd teacher"}, {"seconds": 2.0}))
    assert (time.name, time.covers) == ("training", "first rank, validation included")
    assert whole_time(RunData({})) is None


def test_bars_that_begin_at_a_checkpoint_say_so():
    found = {"seconds": 3.0, "steps_before": 40, "compute_s": [1.0]}
    run = RunData({"command": "spdnn train"}, found)
    assert bars_against(run).endswith("The bars begin after step 40, at a checkpoint.")


@pytest.mark.parametrize("which", ["relayed", "distilled"])
def test_idle_shares_of_a_part_and_of_the_whole_run_have_names_of_their_own(which, request):
    run = request.getfixturevalue(which)
    read = page(run)
    heads, rows = read.heads["timeline"], read.tables["timeline"]
    of_part, of_run = heads[-2:]
    assert of_run == "idle, whole run"
    assert [row[-1] for row in rows] == figures(run)["idle"]
    first, last = map(int, re.fullmatch(r"idle, rounds (\d+) to (\d+)", of_part).groups())
    expected = [waiting(run, rank, first, last + 1) for rank in range(len(rows))]
    assert [row[-2] for row in rows] == pytest.approx(expected, abs=1e-4)
    assert f"'{of_part}'" in read.captions["timeline"] and of_run in read.captions["timeline"]
    assert "idle" not in heads


def waiting(run, rank, first, last):
    """Return the share of the rounds first..last-1 that a rank waits, by the trace's own events."""
    events = json.loads((run / "trace.json").read_text())["traceEvents"]
    mine = [event for event in events if event["ph"] == "X" and event["tid"] == rank]
    begin, end = (
        min(event["ts"] for event in mine if event["args"]["step"] == step)
        for step in (first, last)
    )
    waited = sum(
        event["dur"]
        for event in mine
        if event["cat"] in WAITING and first <= event["args"]["step"] < last
    )
    return waited / (end - begin)
