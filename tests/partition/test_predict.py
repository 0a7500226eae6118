"""Predictions against sums written out by hand, and against each other over ranks."""

import json

import numpy as np
import pytest

from hpc.io.errors import FormatError, InputError
from hpc.io.halo import Traffic
from hpc.io.machine import Costs, Machine, Rates, write_machine
from hpc.io.plan import Plan, block_plan, write_plan
from partition import cli
from partition.predict import predict

COSTS = Costs((1,), (1,), (Rates(1.0, 0.01, 0.001, 10.0, 0.5),))


def two_ranks():
    """Return a layer of 4 rows: rank 0 owns 3 and sends 2 words in a message, rank 1 nothing."""
    owners = (np.array([0, 0, 1], np.int32), np.array([0, 0, 0, 1], np.int32))
    traffic = Traffic(np.array([[2, 0]]), np.array([[1, 0]]), np.array([[6, 4]]))
    return Plan(2, owners, "", {"method": "test"}, traffic, traffic)


def test_a_layer_takes_what_its_slowest_rank_takes():
    batch = 8
    compute = [1 + 0.01 * 6 * 8 + 0.001 * 3 * 8, 1 + 0.01 * 4 * 8 + 0.001 * 1 * 8]
    slowest = compute[0] + 10.0 + 0.5 * 2 * 8
    found = predict(two_ranks(), COSTS, batch)
    assert found.total_s == pytest.approx(slowest)
    average = [np.mean(compute), 5.0, 4.0]
    assert found.seconds[0].tolist() == pytest.approx([*average, slowest - sum(average)])


def machine_file(folder):
    path = folder / "m.json"
    training = Costs((1,), (1,), (Rates(3.0, 0.03, 0.003, 20.0, 1.0),))
    write_machine(path, Machine(COSTS, training, {"kernel": "test"}))
    return path


def test_the_command_writes_what_it_prints(tmp_path, capsys):
    write_plan(tmp_path / "p.h5", two_ranks())
    options = ["--machine", str(machine_file(tmp_path)), "--batch", "8"]
    for kind, more in (("inference", []), ("training", ["--training"])):
        out = tmp_path / f"{kind}.json"
        cli.main(["predict", str(tmp_path / "p.h5"), *options, *more, "--json", str(out)])
        figures = json.loads(out.read_text())
        kinds = ("compute", "latency", "bandwidth", "imbalance")
        assert figures["batch_s"][0] == pytest.approx(sum(figures[f"{k}_s"][0] for k in kinds))
        assert kind in capsys.readouterr().out
    assert figures["latency_s"] == [pytest.approx(10.0)]  # training's: 20 s on one of two ranks


def test_the_scaling_is_that_of_plans_for_each_number_of_ranks(tmp_path):
    pytest.importorskip("kahypar")
    pytest.importorskip("matplotlib")
    from hpc.io.plan import read_plan
    from tests.partition.networks import challenge_file

    network = challenge_file(tmp_path, 3)
    for parts in (2, 8):
        out = str(tmp_path / f"p{parts}.h5")
        cli.main(["build", str(network), "--parts", str(parts), "--out", out])
    picture, figures = tmp_path / "s.png", tmp_path / "s.json"
    options = ["--machine", str(machine_file(tmp_path)), "--batch", "4", "--parts", "2,8"]
    options += ["--network", str(network), "--json", str(figures), "--plot", str(picture)]
    cli.main(["predict", str(tmp_path / "p2.h5"), *options])
    found = json.loads(figures.read_text())
    expected = [predict(read_plan(tmp_path / f"p{p}.h5"), COSTS, 4).total_s for p in (2, 8)]
    assert found["parts"] == [2, 8] and found["batch_s"] == pytest.approx(expected)
    assert picture.read_bytes()[:4] == b"\x89PNG"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--batch", "0"], "--batch 0: expected 1 or more"),
        (["--parts", "2,4"], "--parts and --network go together"),
        (["--plot", "x.txt"], "a picture ends in"),
    ],
)
def test_bad_options(tmp_path, options, message):
    write_plan(tmp_path / "p.h5", two_ranks())
    machine = ["--machine", str(machine_file(tmp_path))]
    with pytest.raises(InputError, match=message):
        cli.main(["predict", str(tmp_path / "p.h5"), *machine, *options])


def test_a_plan_without_traffic_is_refused():
    with pytest.raises(InputError, match="holds no traffic"):
        predict(block_plan((3, 3), 2), COSTS, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda m: m.pop("training"), "training is missing"),
        (lambda m: m["inference"]["rates"][0].update(word_s=-1), r"rates\[0\].word_s is -1, expec"),
        (lambda m: m["inference"]["rates"][0].update(word_s=float("nan")), r"word_s is nan"),
        (lambda m: m["inference"].update(rates=[]), r"inference.rates: expected 1 entries"),
        (lambda m: m["inference"].update(rows=[2, 1]), r"inference.rows is \[2, 1\], expected"),
        (lambda m: m["inference"].update(batches=[True]), r"batches is \[True\], expected"),
        (lambda m: m["inference"]["rates"][0].update(word_s=True), r"word_s is True"),
        (lambda m: m["inference"]["rates"][0].update(word_s=1e308), r"word_s is 1e\+308, expec"),
        (
            lambda m: m["inference"].update(rates=[dict.fromkeys(m["inference"]["rates"][0], 0)]),
            "all are 0, expected some cost",
        ),
        (lambda m: m.update(about=3), "about is 3, expected names with texts"),
        (lambda m: m.update(format="x"), "not a relaycut-machine file"),
        (lambda m: m.update(version=9), "version 9, this program reads 2"),
    ],
)
def test_a_bad_machine_file_is_refused(tmp_path, change, message):
    path = machine_file(tmp_path)
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))
    write_plan(tmp_path / "p.h5", two_ranks())
    with pytest.raises(FormatError, match=message):
        cli.main(["predict", str(tmp_path / "p.h5"), "--machine", str(path)])
