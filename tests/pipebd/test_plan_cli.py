import json
import os
import subprocess
import sys

import pytest

from hpc.cli.parser import Parser
from hpc.io.errors import InputError
from hpc.pipebd import plan_cli
from tests.pipebd.exhaustive import best_step, step_time
from tests.pipebd.profile_cases import FOLDER, SHIPPED, plain, shipped


def plan(*words):
    parser = Parser()
    plan_cli.add_parser(parser.add_subparsers())
    plan_cli.run(parser.parse_args(["plan", *map(str, words)]))


@pytest.mark.parametrize("name", SHIPPED)
def test_json_is_the_exhaustive_optimum(name, tmp_path, capsys):
    out = tmp_path / "plan.json"
    plan("--profile", FOLDER / f"{name}.json", "--ranks", 4, "--json", out)
    found = json.loads(out.read_text())
    assert found["schedule"] == SHIPPED[name]
    assert found["step_s"] == pytest.approx(best_step(shipped(name), 4))
    assert found["step_s"] == max(found["group_s"])
    assert len(found["idle"]) == found["ranks"] == 4
    assert min(found["idle"]) == 0 and max(found["idle"]) < 1
    assert f"schedule  {SHIPPED[name]}\n" in capsys.readouterr().out


def test_report_shows_groups_ranks_and_the_other_schedules(capsys):
    plan("--profile", FOLDER / "rtx2080ti.json", "--ranks", 4)
    words = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["1-2@2", "256", "38.30", "ms", "5.8", "GiB"] in words
    assert ["3", "1.00", "3-5@3", "0.0", "%"] in words
    compared = [line[0] for line in words if line and line[-1].endswith("x")]
    assert compared == ["ahd", "tr+dpu", "tr", "ir", "dp", "ls"]


def test_a_given_schedule_is_predicted(tmp_path):
    groups = [(0, 3, 0, 1), (3, 6, 1, 4)]
    words = ("--ranks", 4, "--schedule", "0-2@0 3-5@1-3", "--json", tmp_path / "p.json")
    plan("--profile", FOLDER / "a6000.json", *words)
    found = json.loads((tmp_path / "p.json").read_text())
    assert found["schedule"] == "0-2@0 3-5@1-3"
    assert found["step_s"] == pytest.approx(step_time(shipped("a6000"), groups))


@pytest.mark.parametrize("name", ["tr", "tr+dpu", "ir", "dp", "ls"])
def test_named_schedules_are_predicted(name, capsys):
    plan("--profile", FOLDER / "a6000.json", "--ranks", 4, "--schedule", name)
    lines = capsys.readouterr().out.splitlines()
    step = next(line for line in lines if line.startswith("step")).split()[1]
    assert step in next(line for line in lines if line.startswith(f"{name} "))


def test_memory_limit_and_what_does_not_fit(capsys):
    plan("--profile", FOLDER / "rtx2080ti.json", "--ranks", 4, "--memory-limit", "8GiB")
    assert "tr+dpu  does not fit" in capsys.readouterr().out


def test_more_ranks_than_useful(tmp_path, capsys):
    path = tmp_path / "p.json"
    data = plain(n_blocks=2, n_ranks=2, batch=2)
    data["allreduce_s"] = {"2": [1.0, 1.0]}
    path.write_text(json.dumps(data))
    plan("--profile", path, "--ranks", 5, "--json", tmp_path / "out.json")
    out = capsys.readouterr().out
    assert "schedule  0@0 1@1 (5 ranks, 3 idle)" in out
    assert "3 of 5 ranks stay idle: more ranks than useful" in out
    assert json.loads((tmp_path / "out.json").read_text())["idle"][2:] == [1, 1, 1]
    plan("--profile", path, "--ranks", 5, "--quiet")
    quiet = capsys.readouterr().out.splitlines()
    assert quiet == [line for line in out.splitlines() if not line.startswith("note ")]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--ranks", 0], "0 ranks; expected at least 1"),
        (["--ranks", 4, "--schedule", "fast"], "unknown schedule 'fast'; expected ahd"),
        (["--ranks", 4, "--schedule", "0-5@0-4"], "names rank 4, which does not exist"),
        (["--ranks", 4, "--memory-limit", "much"], "memory limit 'much'; expected bytes such as"),
        (["--ranks", 4, "--memory-limit", "2GB"], "block 0 (block0) needs 2.7 GiB at a share of"),
        (["--ranks", 4, "--memory-limit", "5GiB", "--schedule", "0-5@0-3"], "cannot run: group"),
        (["--ranks", 4, "--json", "nowhere/x.json"], "the folder nowhere does not exist"),
    ],
)
def test_bad_input_is_one_line(words, says):
    with pytest.raises(InputError) as caught:
        plan("--profile", FOLDER / "rtx2080ti.json", *words)
    assert says in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("1000", 1000),
        ("8GiB", 8 << 30),
        ("8 GiB", 8 << 30),
        ("1.5k", 1500),
        ("2MB", 2_000_000),
        ("3TiB", 3 << 40),
    ],
)
def test_sizes(text, count):
    assert plan_cli.parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "0", "-1", "8XB", "GiB", "0.1"])
def test_no_sizes(text):
    with pytest.raises(InputError):
        plan_cli.parse_bytes(text)


def test_needs_neither_mpi_nor_torch():
    program = (
        "import sys\n"
        "sys.modules['mpi4py'] = sys.modules['torch'] = None\n"
        "from hpc.cli.parser import Parser\n"
        "from hpc.pipebd.plan_cli import add_parser\n"
        "parser = Parser()\n"
        "add_parser(parser.add_subparsers())\n"
        "args = parser.parse_args(sys.argv[1:])\n"
        "sys.exit(args.run_alone(args))\n"
    )
    words = ["plan", "--profile", str(FOLDER / "a6000.json"), "--ranks"]
    command = [sys.executable, "-c", program, *words]
    good = subprocess.run([*command, "4"], capture_output=True, text=True, env=os.environ)
    assert good.returncode == 0, good.stderr
    bad = subprocess.run([*command, "0"], capture_output=True, text=True, env=os.environ)
    assert (bad.returncode, bad.stdout) == (2, "")
    assert bad.stderr == "hpc: error: 0 ranks; expected at least 1\n"
