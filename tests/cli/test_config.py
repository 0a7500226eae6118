"""--config: what a file may say, what wins, and that a run's own options repeat it."""

import argparse
import json

import pytest

from hpc.cli.config import add_config, in_force, parse, toml_text
from hpc.cli.parser import Parser
from hpc.io.errors import InputError
from tests.launching import run_alone, run_ranks


def tool(run=None):
    """Return a parser with the command `run`, all kinds of options, and another command."""
    parser = Parser(prog="python -m hpc")
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("network")
    one.add_argument("inputs")
    one.add_argument("--batch", type=int, default=256)
    one.add_argument("--lr", type=float, default=0.01)
    one.add_argument("--no-merge", action="store_true")
    one.add_argument("--kind", choices=("a", "b"), default="a")
    one.add_argument("--sizes", type=lambda text: [int(part) for part in text.split(",")])
    one.add_argument("--spare-plan", action="append", default=[])
    one.add_argument("-n", "--ranks", dest="n", type=int)
    one.add_argument("--out", required=True)
    one.add_argument("--json")
    commands.add_parser("other").add_argument("--depth")
    add_config(parser)
    return parser


def parsed(tmp_path, text, *words):
    path = tmp_path / "run.toml"
    path.write_text(text)
    return parse(tool(), ["run", "--config", str(path), *words])


FULL = """
network = "net.h5"
inputs = "x.h5"
batch = 64
lr = 1
no-merge = true
sizes = [3, 4]
spare_plan = ["a", "b"]
out = "o"
"""


def test_every_kind_of_option_can_be_in_the_file(tmp_path):
    args = parsed(tmp_path, FULL)
    assert (args.network, args.inputs, args.out) == ("net.h5", "x.h5", "o")
    assert (args.batch, args.lr, args.no_merge) == (64, 1.0, True)
    assert (args.sizes, args.spare_plan, args.kind) == ([3, 4], ["a", "b"], "a")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--batch", "32"], {"batch": 32, "lr": 1.0}),
        (["--batch=32", "n2.h5"], {"batch": 32, "network": "n2.h5", "inputs": "x.h5"}),
        (["n2.h5", "--lr", "2", "x2.h5"], {"network": "n2.h5", "inputs": "x2.h5", "lr": 2.0}),
        (["--spare-plan", "c"], {"spare_plan": ["c"]}),
        (["-n", "3", "--kind", "b"], {"n": 3, "kind": "b"}),
    ],
)
def test_the_command_line_wins(tmp_path, words, expected):
    args = vars(parsed(tmp_path, FULL, *words))
    assert {name: args[name] for name in expected} == expected


@pytest.mark.parametrize("table", ["[run]", "[hpc]", "[hpc.run]"])
def test_tables_of_a_command_come_before_what_is_for_all(tmp_path, table):
    text = f'batch = 8\nnetwork = "n"\ninputs = "x"\n{table}\nbatch = 16\nout = "o"\n'
    text += "[other]\ndepth = 3\n[partition.build]\nparts = 4\n"
    args = parsed(tmp_path, text)
    assert (args.batch, args.network, args.out) == (16, "n", "o")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("bathc = 3", "unknown key 'bathc'; nearest: batch"),
        ("zzz = 3", "unknown key 'zzz'; valid: batch, inputs, json, kind, lr, network, "),
        ("help = true", "unknown key 'help'"),
        ("batch = '64'", "batch = '64': expected a whole number"),
        ("batch = 6.5", "batch = 6.5: expected a whole number"),
        ("batch = true", "batch = True: expected a whole number"),
        ("lr = 'fast'", "lr = 'fast': expected a number"),
        ("no-merge = 1", "no-merge = 1: expected true or false"),
        ("kind = 'c'", "kind = 'c': invalid choice: 'c' (choose from 'a', 'b')"),
        ("sizes = 'many'", "sizes = 'many': invalid"),
        ("out = [[1]]", "out = [[1]]: expected text"),
        ("out = 2026-01-01", "expected text"),
        ("[rum]\nbatch = 3", "no command [rum]; expected run"),
        ("[hpc.rum]\nbatch = 3", "no command [hpc.rum]; expected run"),
        ("batch = ", "not TOML"),
    ],
)
def test_what_a_file_may_not_say(tmp_path, text, said):
    with pytest.raises(InputError) as raised:
        parsed(tmp_path, text, "net.h5", "x.h5", "--out", "o")
    assert str(raised.value).startswith(f"--config {tmp_path / 'run.toml'}: ")
    assert said in str(raised.value)


def test_what_is_needed_and_nowhere_is_said(tmp_path):
    with pytest.raises(InputError, match="required: inputs"):
        parsed(tmp_path, 'network = "n"\nout = "o"')
    with pytest.raises(InputError, match="required: --out"):
        parsed(tmp_path, 'network = "n"\ninputs = "x"')
    with pytest.raises(InputError, match="unrecognized arguments: --bacth=3; did you mean --batch"):
        parsed(tmp_path, FULL, "--bacth=3")
    with pytest.raises(InputError, match="unrecognized arguments: third"):
        parsed(tmp_path, FULL, "one", "two", "third")


def test_no_such_file(tmp_path):
    with pytest.raises(InputError, match=r"none.toml: cannot be read \(No such file"):
        parse(tool(), ["run", "--config", str(tmp_path / "none.toml")])
    with pytest.raises(InputError, match="expected one argument"):
        parse(tool(), ["run", "--config"])
    (tmp_path / "x.json").write_text('{"seconds": 3}')
    with pytest.raises(InputError, match="holds no options of a run"):
        parse(tool(), ["run", "--config", str(tmp_path / "x.json")])


def test_the_figures_of_a_run_repeat_it_without_replacing_themselves(tmp_path):
    path = tmp_path / "x.json"
    options = {"network": "n.h5", "inputs": "x.h5", "out": "o.h5", "batch": 3, "json": str(path)}
    path.write_text(json.dumps({"seconds": 3, "config": options}))
    parser = tool()
    args = parse(parser, ["run", "--config", str(path)])
    assert args.batch == 3 and args.json is None
    other = parse(parser, ["run", "--config", str(path), "--json", "y.json"])
    assert other.json == "y.json"


def test_what_is_in_force_is_what_a_file_says(tmp_path):
    first = parsed(tmp_path, FULL, "--kind", "b", "-n", "2", "--out", 'a "q" \\ ü\n')
    again = parsed(tmp_path, toml_text(first.in_force))
    config = {"config": None, "in_force": None}
    assert vars(again) | config == vars(first) | config
    assert first.in_force["ranks"] == 2
    assert "run" not in in_force(argparse.ArgumentParser(), first)


@pytest.fixture(scope="module")
def network(tmp_path_factory):
    folder = tmp_path_factory.mktemp("config")
    words = ("--sizes", "784,16,10", "--degree", 8, "--activation", "relu,identity")
    made = run_alone("-m", "datasets", "random", *words, "--out", folder / "net.h5", "--quiet")
    assert (made.returncode, made.stderr) == (0, "")
    return folder


def test_a_run_is_repeated_by_the_options_that_it_stored(network):
    first, second = network / "1.json", network / "2.json"
    words = ("--epochs", 2, "--lr", 0.05, "--seed", 7, "--run", network / "run", "--json", first)
    train = ("-m", "hpc", "spdnn", "train")
    ran = run_ranks(2, *train, network / "net.h5", "hpc/samples/digits.h5", *words)
    assert ran.returncode == 0, ran.stderr
    again = ("--run", network / "again", "--json", second)
    ran = run_ranks(2, *train, "--config", network / "run" / "config.toml", *again)
    assert ran.returncode == 0, ran.stderr
    losses = [[epoch["loss"] for epoch in history(path)] for path in (first, second)]
    assert losses[0] == losses[1] and len(losses[0]) == 2
    third = network / "3.json"
    ran = run_ranks(2, *train, "--config", first, "--run", network / "third", "--json", third)
    assert ran.returncode == 0, ran.stderr
    assert [epoch["loss"] for epoch in history(third)] == losses[0]
    config = json.loads(first.read_text())["config"]
    assert (config["lr"], config["seed"], config["optimizer"]) == (0.05, 7, "sgd")


def history(path):
    return json.loads(path.read_text())["history"]


def test_a_bad_file_is_one_message_and_exit_code_2_on_ranks(network):
    (network / "bad.toml").write_text("[spdnn.infer]\nbatch = 'many'\n")
    ran = run_ranks(
        2, "-m", "hpc", "spdnn", "infer", "a.h5", "b.h5", "--config", network / "bad.toml"
    )
    assert ran.returncode == 2
    expected = f"--config {network / 'bad.toml'}: batch = 'many': expected a whole number"
    assert ran.stderr.strip() == f"hpc: error: {expected}"


def test_the_other_tools_take_files_too(network):
    path = network / "tools.toml"
    path.write_text(
        f"[partition.build]\nnetwork = '{network / 'net.h5'}'\nparts = 2\nmethod = 'block'\n"
        f"out = '{network / 'p.h5'}'\n[datasets.random]\nsizes = [8, 4]\ndegree = 2\n"
        f"out = '{network / 'r.h5'}'\n[launch.local]\nranks = 2\ndry-run = true\n"
    )
    for words in (
        ("partition", "build", "--config", path, "--json", network / "p.json"),
        ("datasets", "random", "--config", path),
        ("launch", "local", "--config", path, "--", "spdnn", "infer", "a.h5", "b.h5"),
    ):
        ran = run_alone("-m", *words)
        assert ran.returncode == 0, ran.stderr
    assert "-n 2" in ran.stdout
    figures = json.loads((network / "p.json").read_text())
    assert (figures["parts"], figures["config"]["method"]) == (2, "block")
    assert (network / "r.h5").exists()
