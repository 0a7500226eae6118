"""The comparison over numbers of ranks: what it says is what plans say."""

import json

import numpy as np
import pytest

from hpc.io.errors import InputError
from hpc.io.network import open_network
from partition import cli
from partition.asked import Asked
from partition.build import build_plan
from tests.partition.networks import challenge_file

pytest.importorskip("kahypar")


def test_every_number_of_ranks_has_the_figures_of_its_plan(tmp_path, capsys):
    network = challenge_file(tmp_path, 3)
    out = tmp_path / "c.json"
    cli.main(["compare", str(network), "--parts", "2,8", "--window", "1", "--json", str(out)])
    found = json.loads(out.read_text())
    printed = capsys.readouterr().out
    assert found["parts"] == [2, 8]
    for at, parts in enumerate((2, 8)):
        with open_network(network) as opened:
            plan = build_plan(opened, Asked(parts, window=1)).plan
        for prefix, traffic in (("", plan.traffic), ("random_", plan.random_traffic)):
            for name in ("words", "messages"):
                sent = getattr(traffic, name).sum(axis=0)
                assert found[f"{prefix}{name}_average"][at] == pytest.approx(sent.mean())
                assert found[f"{prefix}{name}_maximum"][at] == sent.max()
        ratio = plan.traffic.words.sum() / plan.random_traffic.words.sum()
        line = next(line for line in printed.splitlines() if line.split()[:1] == [str(parts)])
        assert float(line.split()[4]) == pytest.approx(ratio, abs=5e-4)
    assert np.all(np.array(found["seconds"]) > 0)


def test_the_picture_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    network, picture = challenge_file(tmp_path, 2), tmp_path / "c.png"
    arguments = ["--parts", "2,4", "--window", "1", "--plot", str(picture)]
    cli.main(["compare", str(network), *arguments])
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--parts", "2,3000"], r"3000 parts: .* expected 1\.\.2048"),
        (["--parts", "2", "--plot", "c.txt"], "a picture ends in .png, .svg, .pdf"),
    ],
)
def test_bad_input_is_found_before_the_work(tmp_path, monkeypatch, options, message):
    monkeypatch.setattr("partition.compare_command.build_watched", None)
    with pytest.raises(InputError, match=message):
        cli.main(["compare", str(challenge_file(tmp_path, 2)), *options])
