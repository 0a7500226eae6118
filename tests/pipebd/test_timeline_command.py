"""`pipebd timeline`: what it prints and writes."""

from __future__ import annotations

import json

import pytest

from hpc.cli.parser import Parser
from hpc.io.errors import InputError
from hpc.pipebd import timeline_command
from hpc.report.trace import Span, Trace, write_trace
from tests.launching import run_ranks
from tests.pipebd.profile_cases import FOLDER


def command(*arguments):
    parser = Parser()
    timeline_command.add_parser(parser.add_subparsers())
    timeline_command.run(parser.parse_args(["timeline", *map(str, arguments)]))


@pytest.fixture
def trace_file(tmp_path):
    """10 steps of 20 ms; rank 1 waits for half of each."""
    spans = []
    for step in range(10):
        at = 0.02 * step
        spans.append(Span(0, "student", step, 0, at, at + 0.02))
        spans.append(Span(1, "receive", step, 1, at, at + 0.01))
        spans.append(Span(1, "student", step, 1, at + 0.01, at + 0.02))
    about = {"schedule": "0@0 1@1", "predicted_step_s": 0.016, "predicted_idle": [0.0, 0.4]}
    write_trace(tmp_path / "t.json", Trace(tuple(spans), about))
    return tmp_path / "t.json"


def test_prints_the_prediction_beside_what_was_measured(trace_file, capsys):
    command(trace_file, "--json", trace_file.with_name("out.json"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["schedule", "0@0", "1@1"] in lines
    assert ["step", "16.00", "ms", "20.00", "ms", "+25.0", "%"] in lines
    assert ["idle,", "rank", "1", "40.0", "%", "50.0", "%"] in lines
    figures = json.loads(trace_file.with_name("out.json").read_text())
    assert figures["step_s"] == pytest.approx(0.02)
    assert figures["idle"] == pytest.approx([0, 0.5])


@pytest.mark.parametrize("schedule", ["dp", "ls", "tr"])
def test_says_what_the_run_itself_said(schedule, tmp_path, capsys):
    """In a baseline a step is one batch through every block, not one round of a block."""
    trace, figures, out = (tmp_path / name for name in ("t.json", "f.json", "out.json"))
    done = run_ranks(
        2, "-m", "hpc", "pipebd", "train", "--emulate", FOLDER / "a6000.json", "--schedule",
        schedule, "--steps", 6, "--trace", trace, "--json", figures,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    command(trace, "--json", out)
    said, found = json.loads(figures.read_text()), json.loads(out.read_text())
    assert found["step_s"] == said["step_s"]
    assert found["idle"] == said["idle"]
    printed = [line for line in done.stdout.splitlines() if line.startswith(("step", "idle"))]
    assert len(printed) == 3
    assert set(printed) <= set(capsys.readouterr().out.splitlines())


def test_draws(trace_file, capsys):
    pytest.importorskip("matplotlib")
    png = trace_file.with_name("t.png")
    command(trace_file, "--png", png, "--first", 2, "--steps", 3)
    assert png.read_bytes().startswith(b"\x89PNG")
    assert "steps 2 to 4 drawn" in capsys.readouterr().out
    command(trace_file, "--plot", png.with_suffix(".svg"), "--quiet")
    assert png.with_suffix(".svg").exists() and "drawn" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--steps", 0), "at least 1"),
        (("--first", 9, "--steps", 3), r"no step 9 followed by step 12.*has steps 0\.\.9"),
        (("--png", "/no/such/folder/t.png"), "does not exist"),
    ],
)
def test_bad_input(trace_file, options, message):
    with pytest.raises(InputError, match=message):
        command(trace_file, *options)
