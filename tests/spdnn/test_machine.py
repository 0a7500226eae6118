"""Measuring the machine: the cases are what they say, the fit finds known costs, the command."""

import json

import numpy as np
import pytest

from hpc.io.machine import Rates, work
from hpc.spdnn.machine_cases import Case, case_shard
from tests.launching import run_alone, run_ranks


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("halo", [0, 5, 16])
def test_a_case_sends_what_it_says(size, halo):
    shards = [case_shard(Case(16, 6, halo, 1), size, rank) for rank in range(size)]
    for shard in shards:
        for layer in shard.layers:
            sent = [len(rows) for _, rows in layer.sends]
            assert sent == ([halo] * (size - 1) if halo else [])
            assert layer.n_out == 16 and 16 * 3 <= layer.n_edges <= 16 * 6


def test_the_fit_finds_costs_that_times_were_made_of():
    from hpc.spdnn.machine import fit

    rates = Rates(1e-5, 1e-9, 2e-10, 3e-10, 4e-6, 5e-10)
    rng = np.random.default_rng(0)
    amounts = np.array(
        [work(int(rng.integers(1, 300)), *rng.integers(1, 5000, 4)) for _ in range(40)]
    )
    found = fit(amounts, amounts @ rates.array())
    np.testing.assert_allclose(found.array(), rates.array(), rtol=1e-4)


def test_one_rank_cannot_measure_messages(tmp_path):
    ran = run_alone("-m", "hpc", "machine", "--out", tmp_path / "m.json")
    assert ran.returncode == 2 and "needs 2 ranks or more" in ran.stderr


@pytest.mark.slow
def test_the_command_writes_a_file_that_predict_reads(tmp_path):
    out = tmp_path / "m.json"
    ran = run_ranks(2, "-m", "hpc", "machine", "--out", out, "--quiet", timeout=170)
    assert ran.returncode == 0, ran.stderr
    content = json.loads(out.read_text())
    assert content["about"]["ranks"] == "2"
    for kind in ("inference", "training"):  # on a busy machine a single one may come out as 0
        assert sum(content[kind][name] for name in ("edge_s", "edge_column_s", "row_column_s")) > 0
