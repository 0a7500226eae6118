"""The moving line of ranks whose mpirun was started in a terminal by `launch local`."""

import re
import sys

import pytest

from hpc.report.terminal import VARIABLE, Terminal, told_terminal
from launch.terminal import terminal_variables
from tests.launch.terminal_run import run_in_terminal
from tests.launching import run_alone, run_ranks  # noqa: F401 - names a starter of mpirun

ERASE = "\x1b[2K"
COLUMNS = 110


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    """Return the words of a training of some seconds."""
    network = tmp_path_factory.mktemp("terminal") / "net.h5"
    sizes = ("--sizes", "784,256,10", "--degree", 16, "--activation", "relu,identity")
    made = run_alone("-m", "datasets", "random", *sizes, "--init", "scaled", "--out", network)
    assert made.returncode == 0, made.stderr
    words = ("--epochs", "4", "--batch", "20", "--kernel", "scipy")
    return ("spdnn", "train", network, "hpc/samples/digits.h5", *words)


def launched(*words):
    return [sys.executable, "-m", "launch", "local", "-n", "2", *words]


def visible(shown):
    """Return the lines that a terminal shows one after the other in the same place."""
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    return [line for line in re.split(r"[\r\n]+", plain) if line]


def test_the_line_moves_and_what_is_printed_stands_above_it(training):
    code, shown = run_in_terminal(launched("--", *training), COLUMNS)
    assert code == 0, shown
    assert shown.count(f"\r{ERASE}train") >= 2
    moving = [line for line in visible(shown) if line.startswith("train ")]
    assert "400/400" in moving[-1] and "inputs/s" in moving[-1]
    assert max(map(len, moving)) <= COLUMNS
    assert [line for line in visible(shown) if line.startswith("epoch   4  loss")]
    assert "\x1b[?25l" not in shown, "a rank that is killed would leave the cursor hidden"


def test_a_terminal_that_does_not_know_its_width_has_one(training):
    code, shown = run_in_terminal(launched("--", *training), 0)
    assert code == 0, shown
    assert [line for line in visible(shown) if line.startswith("epoch   4  loss")]


def test_standard_output_goes_where_it_was_sent(training, tmp_path):
    with open(tmp_path / "out.txt", "wb") as out:
        code, shown = run_in_terminal(launched("--", *training), COLUMNS, out)
    printed = (tmp_path / "out.txt").read_text()
    assert code == 0, shown
    assert shown.count(ERASE) >= 2 and "epoch" not in shown
    assert printed.count("epoch ") == 4 and "\x1b" not in printed


def test_one_process_in_a_terminal_keeps_them_apart_too(training, tmp_path):
    with open(tmp_path / "out.txt", "wb") as out:
        code, shown = run_in_terminal([sys.executable, "-m", "hpc", *training], COLUMNS, out)
    assert code == 0, shown
    assert shown.count(ERASE) >= 2 and "epoch" not in shown
    assert (tmp_path / "out.txt").read_text().count("epoch ") == 4


def test_quiet_launches_show_no_line(training):
    code, shown = run_in_terminal(launched("--quiet", "--", *training), COLUMNS)
    assert code == 0 and "\x1b" not in shown


def test_no_terminal_is_told_of_where_there_is_none(monkeypatch):
    assert terminal_variables() == {}
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    assert terminal_variables() == {}


@pytest.mark.parametrize("terminal", [Terminal(80, False), Terminal(132, True)])
def test_what_is_told_is_understood(terminal):
    assert told_terminal({VARIABLE: terminal.text}) == terminal


@pytest.mark.parametrize("text", ["", "0", "-3", "wide", "80 all", "both"])
def test_anything_else_is_no_terminal(text):
    assert told_terminal({VARIABLE: text}) is None
    assert told_terminal({}) is None
