"""A teacher that is trained under watch: its log, its figures and its page agree."""

from __future__ import annotations

import json

import pytest

from hpc.report.page.pictures import pictures_of
from hpc.report.page.run_data import read_run
from tests.launching import run_alone, run_ranks


def test_a_teacher(tmp_path):
    pytest.importorskip("torch")
    images, run = tmp_path / "digits.h5", tmp_path / "run"
    assert run_alone("-m", "datasets", "digits", "--out", images).returncode == 0
    how = ("--width", "0.03125", "--data", images, "--epochs", "2", "--batch", "100")
    what = ("-m", "hpc", "pipebd", "teacher", "vgg16-dsconv")
    ran = run_ranks(2, *what, *how, "--run", run, "--json", tmp_path / "f.json")
    assert ran.returncode == 0, ran.stderr
    figures = json.loads((tmp_path / "f.json").read_text())
    assert json.loads((run / "figures.json").read_text()) == figures
    pictures = {picture.name: picture for picture in pictures_of(read_run(run))}
    losses = [(n, e["loss"]) for n, e in enumerate(figures["history"], 1)]
    assert list(pictures["loss"].table.rows) == losses
    assert pictures["accuracy"].table.rows[-1] == (2, figures["accuracy"])
    steps = [row[0] for row in pictures["step-loss"].table.rows]
    assert steps[-1] == figures["steps"] == 32
    last = pictures["step-loss"].table.rows[-1][1]
    assert 0.3 * losses[-1][1] < last < 3 * losses[-1][1]  # half a batch of the epoch's last step
    assert all(0 <= row[1] <= 1 for row in pictures["waiting"].table.rows)
