"""Measuring the machine: the cases are what they say, the fit finds known costs, the command."""

import json
from itertools import product

import numpy as np
import pytest

from hpc.io.machine import Costs, Rates, read_machine, work
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

    rates = Rates(1e-5, 2e-10, 3e-10, 4e-6, 5e-10)
    rng = np.random.default_rng(0)
    amounts = np.array(
        [work(int(rng.integers(1, 300)), *rng.integers(1, 5000, 4)) for _ in range(40)]
    )
    found = fit(amounts, amounts @ rates.array())
    np.testing.assert_allclose(found, rates.array(), rtol=1e-4)


def test_costs_that_depend_on_rows_and_batch_are_found_again():
    from hpc.spdnn.machine import costs
    from hpc.spdnn.machine_cases import BATCHES, ROWS, cases

    def made_of(rows, batch):
        return Rates(1e-5, 2e-10 * rows**0.1 / batch**0.2, 3e-10, 4e-6, 1e-9 * rows**0.3)

    every = cases()
    amounts = np.array(
        [work(c.batch, c.rows * c.degree, c.rows, c.halo > 0, c.halo) for c in every]
    )
    seconds = [
        one @ made_of(case.rows, case.batch).array()
        for one, case in zip(amounts, every, strict=True)
    ]
    found = costs(every, amounts, np.array(seconds))
    for rows, batch in product(ROWS, BATCHES):
        wanted = made_of(rows, batch)
        got = found.at(rows, batch)
        assert got.edge_column_s == pytest.approx(wanted.edge_column_s, rel=0.1)
        assert got.word_s == pytest.approx(wanted.word_s, rel=0.1)


def test_costs_between_those_measured_lie_between():
    few, many = Rates(1e-5, 1e-10, 0.0, 4e-6, 5e-10), Rates(1e-5, 3e-10, 0.0, 4e-6, 7e-10)
    found = Costs((100, 10_000), (1, 64), (few, few, many, many))
    for rows, edge_s in ((1, 1e-10), (100, 1e-10), (1000, 2e-10), (10_000, 3e-10), (1e6, 3e-10)):
        assert found.at(rows, 8).edge_column_s == pytest.approx(edge_s)
    by_batch = Costs((100,), (1, 64), (few, many))
    for batch, word_s in ((1, 5e-10), (8, 6e-10), (64, 7e-10), (999, 7e-10)):
        assert by_batch.at(5, batch).word_s == pytest.approx(word_s)


def test_one_rank_cannot_measure_messages(tmp_path):
    ran = run_alone("-m", "hpc", "machine", "--out", tmp_path / "m.json")
    assert ran.returncode == 2 and "needs 2 ranks or more" in ran.stderr


@pytest.mark.slow
def test_the_command_writes_a_file_that_predict_reads(tmp_path):
    out = tmp_path / "m.json"
    ran = run_ranks(2, "-m", "hpc", "machine", "--quick", "--out", out, "--quiet", timeout=170)
    assert ran.returncode == 0, ran.stderr
    content = json.loads(out.read_text())
    assert content["about"]["ranks"] == "2"
    read = read_machine(out)
    for kind in (read.inference, read.training):  # on a busy machine a single one may be 0
        large = kind.at(8192, 256)
        assert large.edge_column_s + large.row_column_s > 0
