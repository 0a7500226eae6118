"""The command line: files out, messages, exit codes."""

import json
import os

import h5py
import numpy as np
import pytest

from hpc.io.errors import FormatError, InputError, run_tool
from hpc.io.plan import read_plan
from hpc.io.sharded import read_sharded_header
from partition import build_command, cli
from tests.launching import run_alone
from tests.partition.networks import challenge_file

pytest.importorskip("kahypar")


@pytest.fixture
def plan(tmp_path):
    """Return the paths of a network and of a plan of it for four ranks."""
    network, path = challenge_file(tmp_path), tmp_path / "plan.h5"
    cli.main(["build", str(network), "--parts", "4", "--seed", "3", "--out", str(path)])
    return network, path


def test_what_build_writes_stats_and_shard_read(plan, tmp_path, capsys):
    network, path = plan
    cli.main(["stats", str(path), "--json", str(tmp_path / "s.json")])
    figures = json.loads((tmp_path / "s.json").read_text())
    traffic = read_plan(path).traffic
    assert figures["volume_words"] == traffic.words.sum()
    assert (figures["parts"], figures["seed"], figures["imbalance"]) == (4, 3, 0.0)
    assert "total" in capsys.readouterr().out
    cli.main(["shard", str(network), str(path), "--out", str(tmp_path / "sharded.h5")])
    header = read_sharded_header(tmp_path / "sharded.h5")
    assert header.words.tolist() == traffic.words.sum(axis=1).tolist()


def test_bad_input_is_one_line_and_exit_code_2(tmp_path):
    done = run_alone("-m", "partition", "build", "none.h5", "--parts", "2", "--out", tmp_path / "p")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "partition: error: none.h5: no such file\n"


def test_bad_usage_is_exit_code_2(tmp_path):
    done = run_alone("-m", "partition", "build", "none.h5", "--parts", "two", "--out", "p")
    assert done.returncode == 2 and "--parts: invalid int value: 'two'" in done.stderr


def test_an_unwritable_output_is_found_before_the_work(tmp_path, monkeypatch):
    network = challenge_file(tmp_path)
    monkeypatch.setattr(build_command, "build_watched", None)  # calling it would fail otherwise
    out = tmp_path / "missing" / "plan.h5"
    with pytest.raises(InputError, match="missing does not exist"):
        cli.main(["build", str(network), "--parts", "2", "--out", str(out)])


@pytest.mark.parametrize("command", ["build", "shard"])
def test_ctrl_c_leaves_nothing_half_written(plan, tmp_path, monkeypatch, command):
    network, path = plan

    def interrupted(*args, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("partition.build.layer_traffic", interrupted)
    monkeypatch.setattr("partition.shard.build_shards", interrupted)
    before = sorted(os.listdir(tmp_path))
    arguments = {
        "build": ["build", str(network), "--parts", "2", "--out", str(tmp_path / "o.h5")],
        "shard": ["shard", str(network), str(path), "--out", str(tmp_path / "o.h5")],
    }[command]
    monkeypatch.setattr("sys.argv", ["partition", *arguments])
    assert run_tool("partition", cli.main) == 130
    assert sorted(os.listdir(tmp_path)) == before


def test_a_plan_of_another_network_is_refused(plan, tmp_path):
    _, path = plan
    (tmp_path / "other").mkdir()
    other = challenge_file(tmp_path / "other", 3)
    with pytest.raises(InputError, match="made for another network"):
        cli.main(["shard", str(other), str(path), "--out", str(tmp_path / "o.h5")])


def test_a_network_in_place_of_a_plan_is_refused(plan):
    network, _ = plan
    with pytest.raises(FormatError, match="'relaycut-network', expected 'relaycut-plan'"):
        cli.main(["stats", str(network)])


def test_a_plan_with_an_owner_out_of_range_is_refused(plan):
    _, path = plan
    with h5py.File(path, "r+") as file:
        file["owners"][5] = 4
    with pytest.raises(FormatError, match=r"owners 0\.\.4, expected 0\.\.3"):
        cli.main(["stats", str(path)])


def test_weights_that_are_not_finite_are_refused(tmp_path):
    network = challenge_file(tmp_path)
    with h5py.File(network, "r+") as file:
        file["data"][40] = np.nan
    with pytest.raises(FormatError, match="layer 1, row 1: weight is nan"):
        cli.main(["build", str(network), "--parts", "2", "--out", str(tmp_path / "p.h5")])


def test_a_note_says_which_layers_miss_the_balance(tmp_path, capsys):
    network = challenge_file(tmp_path)
    cli.main(["build", str(network), "--parts", "60", "--out", str(tmp_path / "p.h5")])
    said = capsys.readouterr()
    assert "4 layers for 60 ranks" in said.out
    assert "partition: note: layer 1: imbalance 0.0547 where 0.01 was asked" in said.err
    assert "(and 3 more layers)" in said.err
    cli.main(["build", str(network), "--parts", "60", "--out", str(tmp_path / "q.h5"), "--quiet"])
    said = capsys.readouterr()
    assert "4 layers for 60 ranks" in said.out and said.err == ""


def test_what_was_asked_is_in_the_plan(tmp_path):
    network, out = challenge_file(tmp_path, 2), tmp_path / "p.h5"
    options = ["--window", "2", "--backend", "mtkahypar", "--preset", "quality"]
    cli.main(["build", str(network), "--parts", "4", *options, "--out", str(out)])
    asked = read_plan(out).asked
    assert (asked["window"], asked["backend"], asked["preset"]) == (2, "mtkahypar", "quality")
    assert read_plan(out).traffic.words.sum() < 0.2 * read_plan(out).random_traffic.words.sum()


def test_random_as_a_backend_is_the_random_plan(tmp_path):
    network = challenge_file(tmp_path, 2)
    for name, option in (("a.h5", "--backend"), ("b.h5", "--method")):
        cli.main(
            ["build", str(network), "--parts", "4", option, "random", "--out", str(tmp_path / name)]
        )
    first, second = (read_plan(tmp_path / name) for name in ("a.h5", "b.h5"))
    assert [a.tolist() for a in first.owners] == [b.tolist() for b in second.owners]


def test_a_window_that_is_no_number_is_refused(tmp_path):
    with pytest.raises(InputError, match="--window many: expected auto"):
        cli.main(
            ["build", "n.h5", "--parts", "2", "--window", "many", "--out", str(tmp_path / "p")]
        )
