"""`pipebd profile`: a file that `plan` takes; bad input."""

from __future__ import annotations

import json

import pytest

from hpc.cli.parser import Parser
from hpc.command_line import build_parser
from hpc.io.errors import InputError
from hpc.pipebd import plan_cli
from hpc.pipebd.profile_file import read_profile
from tests.launching import run_ranks
from tests.pipebd.small_runs import write_images


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_images(tmp_path_factory.mktemp("images") / "x.h5")


def command(data, out, *options):
    return [
        "pipebd", "profile", "vgg16-dsconv", "--width", str(1 / 32), "--data", str(data), "--batch",
        "9", "--steps", "2", "--quiet", "--out", str(out), *map(str, options),
    ]  # fmt: skip


def test_profile_then_plan(data, tmp_path, capsys):
    out, figures = tmp_path / "p.json", tmp_path / "f.json"
    done = run_ranks(2, "-m", "hpc", *command(data, out, "--json", figures))
    assert done.returncode == 0, done.stderr
    found = read_profile(out)
    assert (found.batch, len(found.blocks), len(found.ranks)) == (9, 13, 2)
    assert sorted(found.blocks[0].student_s) == [4, 5, 9]
    assert found.steps == 2
    assert found.machine["ranks"] == 2
    for block in found.blocks:
        assert f"{block.name} " in done.stdout
    assert json.loads(figures.read_text())["workload"] == found.workload
    parser = Parser()
    plan_cli.add_parser(parser.add_subparsers())
    plan_cli.run(parser.parse_args(["plan", "--profile", str(out), "--ranks", "2"]))
    assert "schedule" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--steps", 0], "--steps 0"),
        (["--device", "cuda"], "no CUDA device"),
        (["--transport", "staged"], "expected auto or host"),
        (["--out", "/none/p.json"], "does not exist"),
    ],
)
def test_bad_input(data, tmp_path, monkeypatch, options, message):
    mpi = pytest.importorskip("mpi4py.MPI")
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    args = build_parser().parse_args(command(data, tmp_path / "p.json", *options))
    with pytest.raises(InputError, match=message):
        args.run(args, mpi.COMM_SELF)
