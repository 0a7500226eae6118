"""What a run tells and keeps: by the files, read by others than wrote them."""

from __future__ import annotations

import argparse
import json
import sys

import pytest

from hpc.cli.parser import Parser
from hpc.io.errors import FormatError, InputError
from hpc.report.options import add_common
from hpc.report.record import exit_code_of, recorded
from hpc.report.run_folder import RunFolder, check_run_folder, read_about
from hpc.report.scalars import Scalars
from hpc.report.watch_options import check_watching
from tests.launching import run_alone


def given(*arguments):
    parser = Parser()
    add_common(parser)
    parser.add_argument("--checkpoint")
    return parser.parse_args(list(map(str, arguments)))


def about(folder):
    return json.loads((folder / "run.json").read_text())


def events(path):
    return [json.loads(line)["event"] for line in path.read_text().splitlines()]


def test_a_run_is_kept(tmp_path):
    args = given("--run", tmp_path / "run", "--log", tmp_path / "log.jsonl", "--quiet")
    check_watching(args, "spdnn train")
    with recorded(args, "spdnn train", {"ranks": 2, "hosts": ["a", "b"]}, True) as record:
        assert about(tmp_path / "run")["status"] == "running"
        with record.watch("train", 2) as advance:
            advance(2, "")
        record.epoch(1, loss=0.5, accuracy=None)
        record.figures({"command": "spdnn train", "seconds": 1.5})
    found = about(tmp_path / "run")
    assert (found["status"], found["code"], found["hosts"]) == ("done", 0, ["a", "b"])
    assert found["options"]["quiet"] is True and "run" not in found["options"]
    assert found["versions"]["Python"] == sys.version.split()[0]
    assert json.loads((tmp_path / "run" / "figures.json").read_text())["seconds"] == 1.5
    both = [events(tmp_path / "log.jsonl"), events(tmp_path / "run" / "log.jsonl")]
    assert both[0] == both[1] == ["start", "progress", "epoch", "figures", "end"]


def test_how_a_run_ended(tmp_path):
    class Stopped(Exception):
        code = 3

    for number, (error, status, code) in enumerate([
        (Stopped("kept"), "stopped", 3),
        (InputError("no"), "bad input", 2),
        (RuntimeError("oh"), "failed", 1),
    ]):  # fmt: skip
        folder = tmp_path / str(number)
        args = given("--run", folder, "--quiet")
        check_watching(args, "x")
        with pytest.raises(type(error)), recorded(args, "x", {}, True):
            raise error
        found = about(folder)
        assert (found["status"], found["code"], found["why"]) == (status, code, str(error))


def test_only_the_first_rank_keeps_anything(tmp_path, capsys):
    args = given("--run", tmp_path / "run", "--verbose")
    with recorded(args, "x", {}, False) as record:
        record.epoch(1, loss=1.0)
        with record.watch("train", 2) as advance:
            advance(1, "")
    assert not list(tmp_path.iterdir()) and capsys.readouterr().err == ""


def test_verbose_says_what_runs_on_what(tmp_path, capsys):
    args = given("--verbose", "--seed", 7)
    with recorded(args, "x", {"ranks": 3, "hosts": ["a", "b", "a"], "mpi": "MPICH 5"}, True):
        pass
    said = capsys.readouterr().err.splitlines()
    assert "host       a: 2 rank(s)" in said and "MPI        MPICH 5" in said
    assert "options    seed=7 verbose=True" in said


def test_a_folder_holds_one_run_unless_it_is_gone_on_with(tmp_path):
    args = given("--run", tmp_path, "--quiet")
    with recorded(args, "spdnn train", {}, True) as record:
        record.figures({})
    with pytest.raises(InputError, match=r"holds a run of 'spdnn train' that began 20.*another"):
        check_watching(args, "spdnn train")
    again = given("--run", tmp_path, "--quiet", "--checkpoint", "kept")
    check_watching(again, "spdnn train")
    with pytest.raises(InputError, match="holds a run of 'spdnn train'"):
        check_watching(again, "pipebd train")
    with recorded(again, "spdnn train", {}, True):
        assert not (tmp_path / "figures.json").exists()  # those of before are not this run's
    assert events(tmp_path / "log.jsonl") == ["start", "figures", "end", "start", "end"]


def test_bad_options(tmp_path):
    (tmp_path / "file").write_text("")
    for arguments, says in [
        (("--quiet", "--verbose"), "give one of them"),
        (("--log", tmp_path / "no" / "log"), "does not exist"),
        (("--log", ""), "expected the name of a file"),
        (("--run", tmp_path / "file"), "is a file, expected a folder"),
        (("--run", ""), "expected the name of a folder"),
        (("--tensorboard", tmp_path / "file" / "x"), "cannot be written to"),
        (("--json", tmp_path / "one", "--log", tmp_path / "one"), "would replace the file"),
    ]:
        with pytest.raises(InputError, match=says):
            check_watching(given(*arguments), "x")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "holds no run"),
        ("{", "damaged, not JSON"),
        ("[]", "expected a JSON object"),
        ("{}", "not of a run of relaycut"),
        ('{"format": "relaycut-run", "version": 2}', "version 2, this program reads up to 1"),
    ],
)
def test_folders_that_hold_no_run(tmp_path, text, says):
    if text is not None:
        (tmp_path / "run.json").write_text(text)
    with pytest.raises(FormatError, match=says):
        read_about(tmp_path)
    with pytest.raises(FormatError, match="no such folder"):
        read_about(tmp_path / "nowhere")


@pytest.mark.parametrize(
    "name", ["trace.json", "figures.json", "traffic.json", "config.toml", "log.jsonl"]
)
def test_a_file_of_no_run_is_not_replaced(tmp_path, name):
    (tmp_path / name).write_text("mine")
    (tmp_path / "net.h5").write_text("mine too")
    with pytest.raises(InputError, match=f"would replace .*{name}, of no run"):
        check_run_folder(tmp_path, "spdnn train", True)
    assert (tmp_path / name).read_text() == "mine"
    (tmp_path / name).unlink()
    check_run_folder(tmp_path, "spdnn train", False)


def test_a_file_that_cannot_be_written_is_said_and_left_out(tmp_path, capsys):
    check_run_folder(tmp_path / "run", "x", False)
    folder = RunFolder(tmp_path / "run")
    (tmp_path / "run").rmdir()
    folder.put("figures.json", {})
    assert "figures.json" in capsys.readouterr().err


def test_scalars_are_read_by_tensorboard(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.backend.event_processing.plugin_event_accumulator import (
        EventAccumulator as OfTensorBoard,
    )
    from tensorboard.util.tensor_util import make_ndarray

    args = given("--tensorboard", tmp_path, "--quiet")
    check_watching(args, "x")
    with recorded(args, "x", {}, True) as record:
        record.gauges.loss = lambda: 0.25
        with record.watch("train", 2) as advance:
            advance(2, "")
        record.epoch(1, loss=0.5, losses=[0.125, 0.75], accuracy=None)
    read = EventAccumulator(str(tmp_path))
    read.Reload()

    def values(tag):
        return [(one.step, one.value) for one in read.Scalars(tag)]

    assert values("train/loss") == [(2, 0.25)]
    assert values("epoch/loss") == [(1, 0.5)]
    assert values("epoch/losses/0") == [(1, 0.125)] and values("epoch/losses/1") == [(1, 0.75)]
    tags = {"train/loss", "train/rate", "epoch/loss", "epoch/losses/0", "epoch/losses/1"}
    assert set(read.Tags()["scalars"]) == tags and not read.Tags()["tensors"]

    shown = OfTensorBoard(str(tmp_path))  # what TensorBoard itself makes of them
    shown.Reload()
    assert set(shown.Tags()["tensors"]) == tags
    assert shown.SummaryMetadata("epoch/loss").plugin_data.plugin_name == "scalars"
    (found,) = shown.Tensors("epoch/losses/1")
    assert (found.step, float(make_ndarray(found.tensor_proto))) == (1, 0.75)


def test_without_tensorboard_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboard.summary.writer", None)
    with pytest.raises(InputError, match=r"pip install 'relaycut\[tensorboard\]'"):
        check_watching(given("--tensorboard", tmp_path), "x")


def test_scalars_that_cannot_be_written_are_said_once(tmp_path, capsys):
    pytest.importorskip("tensorboard")
    scalars = Scalars(tmp_path)

    def full(event):
        raise OSError("No space left on device")

    scalars._writer.add_event = full
    scalars.put(1, loss=1.0)
    scalars.put(2, loss=1.0)
    scalars.close()
    assert capsys.readouterr().err.count("No space left") == 1


@pytest.mark.parametrize("arguments", ["", "None", "0", "4", "'words'"])
def test_exit_codes_of_system_exit_are_pythons(arguments):
    ran = run_alone("-c", f"raise SystemExit({arguments})")
    assert exit_code_of(eval(f"SystemExit({arguments})")) == ran.returncode


def test_exit_codes():
    class Nothing(Exception):
        code = None

    assert exit_code_of(SystemExit(4)) == 4 and exit_code_of(SystemExit("words")) == 1
    assert exit_code_of(Nothing()) == 1
    assert isinstance(given(), argparse.Namespace)
