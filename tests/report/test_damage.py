"""Run folders that are not whole: what is missing is said, what is wrong is refused by its name."""

from __future__ import annotations

import json
import shutil
from functools import reduce
from math import inf, nan
from operator import getitem

import pytest

from hpc.io.errors import FormatError
from tests.launching import run_alone
from tests.report.reporting import command, page

PARTS = ("figures.json", "traffic.json", "trace.json", "log.jsonl", "config.toml")
REFUSED = "figures damaged or of another program: "
GONE = object()


@pytest.fixture
def copied(relayed, tmp_path):
    """Return a copy of a run on four ranks."""
    shutil.copytree(relayed, tmp_path / "run")
    return tmp_path / "run"


def put(path, place, value):
    """Put a value at a place of a JSON file, or leave out what is there; return the file."""
    found = json.loads(path.read_text())
    *outer, last = place
    inside = reduce(getitem, outer, found)
    if value is GONE:
        del inside[last]
    else:
        inside[last] = value
    path.write_text(json.dumps(found))
    return path


def refusal(run):
    """Return what `report` says of a run that it refuses, of which it writes no page."""
    out = run.with_suffix(".html")
    with pytest.raises(FormatError) as error:
        command(run, "--html", out)
    assert not out.exists()
    return str(error.value)


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_is_missing_is_noted(copied, name, capsys):
    (copied / name).unlink()
    (note,) = page(copied).notes
    assert note.startswith(f"{copied / name}: missing; no")
    assert capsys.readouterr().err == f"hpc: warning: {note}\n"


@pytest.mark.parametrize("name", PARTS)
def test_a_part_that_cannot_be_read_is_noted(copied, name, capsys):
    (copied / name).unlink()
    (copied / name).mkdir()
    (note,) = page(copied).notes
    assert note.startswith(f"{copied / name}: cannot be read (Is a directory); no")
    assert capsys.readouterr().err == f"hpc: warning: {note}\n"


def test_nothing_is_noted_of_runs_that_are_whole(relayed, trained, inferred, distilled, capsys):
    for run in (relayed, trained[0], inferred, distilled):
        assert page(run).notes == []
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ("running", "missing: the run has not ended, as far as is known; no times"),
        ("stopped", "missing: the run ended as 'stopped'; no times"),
    ],
)
def test_how_the_run_ended_says_why_figures_are_missing(copied, status, why):
    (copied / "figures.json").unlink()
    put(copied / "run.json", ["status"], status)
    (note,) = page(copied).notes
    assert note.startswith(f"{copied / 'figures.json'}: {why}")


def test_no_traffic_is_expected_of_what_relays_nothing(copied):
    (copied / "traffic.json").unlink()
    put(copied / "run.json", ["options", "schedule"], "dp")
    assert page(copied).notes == []


def test_lines_that_a_killed_run_left_are_noted(copied):
    log = copied / "log.jsonl"
    whole = log.read_text()
    log.write_text(whole + '{"time": "2026\n' + whole + '{"ti')
    n_lines = len(whole.splitlines())
    assert page(copied).notes == [
        f"{log}: line {n_lines + 1} is cut off and left out",
        f"{log}: line {2 * n_lines + 2} is cut off and left out",
    ]


@pytest.mark.parametrize(
    ("name", "place", "value", "says"),
    [
        ("run", ["ranks"], 99, "'hosts' has 4 entries, expected 99 rank(s)"),
        ("run", ["hosts"], "a", "'hosts' is \"a\", expected a list, each entry a text"),
        ("run", ["options"], [], "'options' is [], expected an object"),
        ("run", ["seconds"], None, "'seconds' is null, expected a number, 0 or more"),
        ("figures", ["command"], "spdnn infer", "'command' is \"spdnn infer\", the run's 'pipebd"),
        ("figures", ["ranks"], 99, "'ranks' is 99, the run has 4"),
        ("figures", ["ranks"], "4", "'ranks' is \"4\", expected a whole number above 0"),
        ("figures", ["idle"], [0.5], "'idle' has 1 entries, expected 4 rank(s)"),
        ("figures", ["idle"], [[1]] * 4, "'idle' is [[1], [1], [1], [1]], expected a list"),
        ("figures", ["step_s"], nan, "'step_s' is NaN, expected a number"),
        ("figures", ["step_s"], True, "'step_s' is true, expected a number, 0 or more"),
        ("figures", ["step_s"], GONE, "'predicted_step_s' without 'step_s'"),
        ("figures", ["x"], [1, {"y": inf}], "'x.1.y' is Infinity, expected a number"),
        ("figures", ["compute_s"], "x", "'compute_s' is \"x\", expected a number, 0 or more, or n"),
        ("figures", ["kinds_s", "student"], [1.0], "'kinds_s.student' has 1 entries, expected 4"),
        ("figures", ["kinds_s", "student"], [1, 2, 3, -4], "'kinds_s' is {"),
        ("figures", ["history"], [{"loss": "x"}], "'loss' is \"x\", expected a number, or null i"),
        ("traffic", ["pairs"], [[1]], "'pairs' has 1 entries, expected 4 rank(s)"),
        ("traffic", ["pairs", 1], [1, 2, 3], "'pairs.1' has 3 entries, expected 4 rank(s)"),
        ("traffic", ["pairs"], [[0.5]], "'pairs' is [[0.5]], expected a list, each entry a list"),
        ("traffic", ["layers"], {"words": [1]}, "'layers' without 'messages'"),
        ("traffic", ["layers"], {"words": [1, 2], "messages": [1]}, "'layers.messages' has 1 entr"),
        ("traffic", ["layers"], {"words": [3], "messages": [1]}, "'pairs' add up to 257024 words"),
        ("trace", ["otherData", "ranks"], 9, "'ranks' is 9, the run has 4"),
        ("trace", ["otherData", "step_s"], 9.0, "'step_s' is 9.0, that of the run 0.0"),
    ],
)  # fmt: skip
def test_values_that_contradict_each_other_are_refused_by_name(copied, name, place, value, says):
    path = put(copied / f"{name}.json", place, value)
    assert refusal(copied).startswith(f"{path}: {REFUSED}{says}")


@pytest.mark.parametrize(
    ("place", "value", "says"),
    [
        (["otherData", "ranks"], 2, "a span of rank 3, 'ranks' is 2"),
        (["otherData", "idle"], {}, "'idle' is {}, expected a list"),
        (["otherData", "schedule"], "a\nb", "'schedule' is \"a\\nb\", expected a text"),
        (["traceEvents", 9, "dur"], -1, "span 6: 'dur' is -1, expected a number, 0 or more"),
        (["traceEvents", 9, "ts"], nan, "span 6: 'ts' is NaN, expected a number, 0 or more"),
        (["traceEvents", 9, "tid"], 1.5, "span 6: 'tid' is 1.5, expected a whole number"),
        (["traceEvents", 9, "args", "step"], GONE, "span 6: no 'step'"),
        (["traceEvents", 9, "ts"], 1e9, "span 7: begins before the one before it of rank 0"),
        (["traceEvents"], GONE, "no 'traceEvents'"),
    ],
)
def test_a_damaged_trace_is_refused_by_what_is_wrong_with_it(copied, place, value, says):
    path = put(copied / "trace.json", place, value)
    assert refusal(copied).startswith(f"{path}: not a trace of a run, or damaged: {says}")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ({"event": "progress"}, "no 'step'"),
        ({"event": "progress", "step": 1.5}, "'step' is 1.5, expected a whole number"),
        ({"event": "progress", "step": 1, "wait": 2}, "'wait' is 2, expected a share in 0..1"),
        ({"event": "progress", "step": 1, "rate": inf}, "'rate' is Infinity, expected a number"),
        ({"event": "epoch", "loss": 1.0}, "no 'epoch'"),
        ({"event": "epoch", "epoch": 1, "losses": [1, "x"]}, "'losses' is [1, \"x\"], expected"),
    ],
)
def test_a_damaged_event_is_refused_by_its_line(copied, line, says):
    log = copied / "log.jsonl"
    log.write_text(json.dumps(line) + "\n" + log.read_text())
    assert refusal(copied).startswith(f"{log}: line 1: {REFUSED}{says}")


def test_epochs_of_different_numbers_of_blocks_are_refused(copied):
    log = copied / "log.jsonl"
    epochs = [{"event": "epoch", "epoch": n, "losses": [1.0] * n} for n in (2, 3)]
    log.write_text("".join(json.dumps(epoch) + "\n" for epoch in epochs))
    assert refusal(copied) == f"{log}: {REFUSED}'losses' has 3 entries, expected 2 block(s)"


def test_contradictions_end_with_exit_code_2(copied, tmp_path):
    path = put(copied / "figures.json", ["ranks"], 99)
    ran = run_alone("-m", "hpc", "report", copied, "--html", tmp_path / "x.html")
    assert ran.returncode == 2
    assert ran.stderr == f"hpc: error: {path}: {REFUSED}'ranks' is 99, the run has 4\n"
