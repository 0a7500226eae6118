"""`report --json`, the page's numbers for machines, and `--quiet`."""

from __future__ import annotations

import json
import shutil

import pytest

from hpc.io.errors import InputError
from tests.report.reporting import command, figures, page


def numbers(run, tmp_path, *options):
    command(run, "--json", tmp_path / "numbers.json", *options)
    return json.loads((tmp_path / "numbers.json").read_text())


@pytest.mark.parametrize("which", ["trained", "relayed", "inferred", "distilled"])
def test_they_are_those_of_the_page(which, request, tmp_path):
    found = request.getfixturevalue(which)
    run = found[0] if which == "trained" else found
    ours, theirs = numbers(run, tmp_path), page(run)
    assert {tile["name"]: tile["value"] for tile in ours["tiles"]} == theirs.tiles
    assert {one["name"]: one["rows"] for one in ours["pictures"]} == theirs.tables
    for one in ours["pictures"]:
        heads = [f"{c['title']} {c['unit']}".replace(" share", "").strip() for c in one["columns"]]
        assert heads == theirs.heads[one["name"]]
        assert one["caption"] == theirs.captions[one["name"]]
    assert (ours["command"], ours["status"]) == (figures(run, "run")["command"], "done")
    assert ours["config"]["json"] == str(tmp_path / "numbers.json")


def test_units_stand_beside_them(trained, tmp_path):
    run, found, _ = trained
    ours = numbers(run, tmp_path)
    tiles = {tile["name"]: (tile["value"], tile["unit"]) for tile in ours["tiles"]}
    assert tiles["training steps"] == (found["seconds"], "s")
    assert tiles["rate"] == (found["edges_per_s"], "edges/s")
    accuracy = found["history"][-1]["validation_accuracy"]
    assert tiles["validation accuracy"] == (accuracy, "share")
    columns = {one["name"]: one["columns"] for one in ours["pictures"]}
    assert columns["accuracy"][1] == {"title": "training", "unit": "share"}
    assert columns["time"][1] == {"title": "compute", "unit": "s"}


def test_what_is_missing_is_in_them(relayed, tmp_path):
    shutil.copytree(relayed, tmp_path / "run")
    (tmp_path / "run" / "trace.json").unlink()
    (note,) = numbers(tmp_path / "run", tmp_path)["notes"]
    assert note["file"] == str(tmp_path / "run" / "trace.json")
    assert note["why"] == "missing; no timeline"


def test_quiet_says_nothing_of_what_was_written(relayed, tmp_path, capsys):
    outputs = ("--html", tmp_path / "x.html", "--json", tmp_path / "x.json")
    command(relayed, *outputs)
    assert len(capsys.readouterr().out.splitlines()) == 2
    command(relayed, *outputs, "--quiet")
    told = capsys.readouterr()
    assert (told.out, told.err) == ("", "") and (tmp_path / "x.json").exists()


def test_they_replace_nothing_of_the_run(relayed, tmp_path):
    with pytest.raises(InputError, match=r"would replace the file that 'figures\.json' names"):
        command(relayed, "--json", relayed / "figures.json")
    with pytest.raises(InputError, match="--html would replace the file that 'json' names"):
        command(relayed, "--html", tmp_path / "x", "--json", tmp_path / "x")
