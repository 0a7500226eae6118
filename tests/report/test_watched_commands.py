"""Commands that are watched, under mpirun."""

from __future__ import annotations

import json

import pytest

from tests.launching import run_ranks
from tests.report.conftest import DIGITS


def test_the_log_and_the_folder_say_what_the_figures_say(trained):
    run, figures, events = trained
    assert json.loads((run / "figures.json").read_text()) == figures
    kinds = [event["event"] for event in events]
    assert kinds[0] == "start" and kinds[-2:] == ["figures", "end"]
    epochs = [event for event in events if event["event"] == "epoch"]
    ours = [{k: v for k, v in event.items() if k not in ("time", "event")} for event in epochs]
    assert ours == figures["history"]
    last = [event for event in events if event["event"] == "progress"][-1]
    assert last["step"] == last["of"] == figures["steps"] == 60 * 32
    assert 0 <= last["wait"] <= 1 and last["unit"] == "inputs/s" and last["loss"] > 0
    about = json.loads((run / "run.json").read_text())
    assert (about["status"], about["command"], about["ranks"]) == ("done", "spdnn train", 2)
    assert len(about["hosts"]) == 2 and about["options"]["lr"] == 0.002


def test_traffic_is_that_of_partition_stats(inferred, network):
    from hpc.io.plan import read_plan

    found = json.loads((inferred / "traffic.json").read_text())
    plan = read_plan(network / "plan.h5")
    for field in ("words", "messages"):
        ours, random = found["layers"][field], found["layers"][f"random_{field}"]
        assert ours == getattr(plan.traffic, field).sum(axis=1).tolist()
        assert random == getattr(plan.random_traffic, field).sum(axis=1).tolist()
    assert [sum(row) for row in found["pairs"]] == plan.traffic.words.sum(axis=0).tolist()
    assert [row[rank] for rank, row in enumerate(found["pairs"])] == [0, 0]
    figures = json.loads((inferred / "figures.json").read_text())
    assert sum(map(sum, found["pairs"])) == figures["volume_words"]


def test_a_relay_keeps_its_trace_and_what_it_relays(relayed):
    found = json.loads((relayed / "traffic.json").read_text())
    figures = json.loads((relayed / "figures.json").read_text())
    senders = [rank for rank, row in enumerate(found["pairs"]) if any(row)]
    assert senders == [0, 1, 2] and all(row[:3] == [0, 0, 0] for row in found["pairs"])
    assert len(json.loads((relayed / "trace.json").read_text())["traceEvents"]) > 100
    assert all(len(seconds) == 4 for seconds in figures["kinds_s"].values())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--quiet", "--verbose"), "--quiet and --verbose: give one of them"),
        (("--log", "nowhere/log.jsonl"), "the folder nowhere does not exist"),
        (("--run", DIGITS), "is a file, expected a folder"),
    ],
)
def test_bad_options_are_told_once(network, options, says):
    command = ("-m", "hpc", "spdnn", "infer", network / "net.h5", DIGITS)
    ran = run_ranks(2, *command, *options, timeout=60)
    assert ran.returncode == 2
    (line,) = ran.stderr.splitlines()
    assert line.startswith("hpc: error: ") and says in line


def test_a_folder_that_holds_a_run_is_left_alone(trained, network):
    run, figures, _ = trained
    command = ("-m", "hpc", "spdnn", "train", network / "net.h5", DIGITS, "--run", run)
    ran = run_ranks(2, *command, timeout=60)
    assert ran.returncode == 2 and "holds a run of 'spdnn train'" in ran.stderr
    assert json.loads((run / "figures.json").read_text()) == figures
