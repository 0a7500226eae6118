"""`--predicted`: what `partition predict --json` wrote for this run, and nothing else."""

from __future__ import annotations

import json
import shutil

import pytest

from hpc.io.errors import FormatError
from hpc.io.machine import Costs, Machine, Rates, write_machine
from hpc.report.page.prediction import check_fits
from partition import cli
from tests.launching import run_alone
from tests.report.reporting import command, figures, page

COSTS = Costs((1,), (1,), (Rates(1e-6, 1e-9, 1e-9, 1e-5, 1e-9),))


@pytest.fixture(scope="module")
def predict(network, tmp_path_factory):
    """Return a function from a plan and options of `partition predict` to what it wrote."""
    folder = tmp_path_factory.mktemp("predicted")
    write_machine(folder / "m.json", Machine(COSTS, COSTS, {"kernel": "test"}))

    def write(*options, plan=network / "plan.h5"):
        out = folder / "p.json"
        words = ("predict", plan, "--machine", folder / "m.json", *options, "--json", out)
        cli.main(list(map(str, words)))
        return out

    return write


def test_what_the_tool_writes_stands_beside_the_run(inferred, trained, predict):
    for run, options in ((inferred, ()), (trained[0], ("--training", "--batch", "50"))):
        path = predict(*options)
        table = {
            row[0]: row[1:] for row in page(run, "--predicted", path).tables["predicted-batch"]
        }
        found = json.loads(path.read_text())
        assert table["all"][0] == pytest.approx(1e3 * found["batch_s"][0])
        assert "validate" not in table and "read" not in table
    steps, found = 60 * 32, figures(trained[0])
    of_steps = [sum(found[f"{kind}_s"]) / 2 / steps for kind in ("compute", "pack", "wait")]
    assert table["all"][1] == pytest.approx(1e3 * sum(of_steps))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda p: p.clear(), "no 'kind'"),
        (lambda p: p.pop("layer_s"), "no 'layer_s'"),
        (lambda p: p.update(kind="both"), "'kind' is \"both\", expected 'inference' or 'training'"),
        (lambda p: p.update(batch=0), "'batch' is 0, expected a whole number above 0"),
        (lambda p: p.update(parts=[]), "'parts' is empty"),
        (lambda p: p.update(parts=2), "'parts' is 2, expected a list"),
        (lambda p: p.update(compute_s=["x"]), "'compute_s' is [\"x\"], expected a list"),
        (lambda p: p.update(latency_s=[float("nan")]), "'latency_s' is [NaN], expected a list"),
        (lambda p: p.update(batch_s=[1.0, 2.0]), "'batch_s' has 2 entries, 'parts' 1"),
    ],
)
def test_other_json_is_refused(inferred, predict, tmp_path, change, says):
    found = json.loads(predict().read_text())
    change(found)
    path = tmp_path / "other.json"
    path.write_text(json.dumps(found))
    with pytest.raises(FormatError) as error:
        command(inferred, "--html", tmp_path / "x.html", "--predicted", path)
    assert str(error.value).startswith(f"{path}: not from 'partition predict --json': {says}")
    assert not (tmp_path / "x.html").exists()


def test_another_runs_prediction_is_refused(inferred, relayed, trained, predict, network, tmp_path):
    three, small = tmp_path / "three.h5", tmp_path / "small.h5"
    cli.main(
        ["build", f"{network / 'net.h5'}", "--parts", "3", "--method", "block", "--out", f"{three}"]
    )
    run_alone("-m", "datasets", "random", "--sizes", "784,64,10", "--degree", "8", "--out", small)
    other = tmp_path / "other.h5"
    cli.main(["build", f"{small}", "--parts", "2", "--method", "block", "--out", f"{other}"])
    for run, options, plan, says in [
        (
            inferred,
            ("--batch", "64"),
            None,
            "'batch' is 64, a replica of the run has batches of 256",
        ),
        (inferred, (), three, "'parts' is [3], the run cut its network for 2 rank(s)"),
        (inferred, (), other, "predicts a network of 2 layer(s), the run's has 3"),
        (inferred, ("--training",), None, "predicts training, the run is of 'spdnn infer'"),
        (trained[0], (), None, "predicts inference, the run is of 'spdnn train'"),
        (relayed, (), None, "predicts runs of spdnn infer and spdnn train, this is of 'pipebd"),
    ]:
        path = predict(*options, **({} if plan is None else {"plan": plan}))
        with pytest.raises(FormatError) as error:
            command(run, "--html", tmp_path / "x.html", "--predicted", path)
        assert str(error.value).startswith(f"{path}: {says}")


def test_it_ends_with_one_line_and_exit_code_2(inferred, tmp_path):
    path = inferred / "figures.json"
    ran = run_alone("-m", "hpc", "report", inferred, "--html", tmp_path / "x", "--predicted", path)
    assert ran.returncode == 2
    assert ran.stderr == (f"hpc: error: {path}: not from 'partition predict --json': no 'kind'\n")


def test_of_replicas_one_is_predicted():
    """With its ranks, and its part of a training's batch."""
    found = {"kind": "training", "batch": 17, "parts": [2], "layer_s": [[1.0]]}
    ran = {"ranks": 6, "replicas": 3, "batch": 50}
    check_fits("p.json", found, {"command": "spdnn train"}, ran, None)
    check_fits(
        "p.json", found | {"kind": "inference", "batch": 50}, {"command": "spdnn infer"}, ran, None
    )
    with pytest.raises(FormatError, match="batches of 17"):
        check_fits("p.json", found | {"batch": 50}, {"command": "spdnn train"}, ran, None)


def test_without_times_the_prediction_is_noted(inferred, predict, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(inferred, run)
    (run / "figures.json").unlink()
    path = predict()
    notes = page(run, "--predicted", path).notes
    assert f"{path}: nothing was measured to stand beside it" in notes
