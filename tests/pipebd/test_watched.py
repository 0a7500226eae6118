"""What can be read off a run while it goes on, and what it is said to relay."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as some

from hpc.pipebd.execution import _whole_loss
from hpc.pipebd.losses_seen import LossLog
from hpc.pipebd.program import Boundary
from hpc.pipebd.reducer import Timed
from hpc.pipebd.relayed import relayed_figures
from hpc.pipebd.schedule import parse
from hpc.pipebd.work import Round

CPU = torch.device("cpu")


def owner(sample, batch, size):
    """Return which of `size` ranks holds a sample: the first batch % size hold one more."""
    each, more = divmod(batch, size)
    counts = [each + (rank < more) for rank in range(size)]
    return int(np.searchsorted(np.cumsum(counts), sample, side="right"))


@given(some.integers(1, 20), some.sampled_from(["0@0 1@1", "0@0-2 1-2@3", "0@0 1@1-3 2@4-5"]))
def test_what_is_relayed_sample_by_sample(batch, text):
    schedule = parse(text)
    n_ranks = max(group.ranks.stop for group in schedule.groups)
    if batch < max(group.size for group in schedule.groups):
        return
    found = relayed_figures(
        schedule, n_ranks, batch, lambda block: Boundary((block, 5), torch.float64)
    )
    expected = np.zeros((n_ranks, n_ranks), int)
    for before, after in zip(schedule.groups, schedule.groups[1:], strict=False):
        for sample in range(batch):
            sender = before.ranks[owner(sample, batch, before.size)]
            receiver = after.ranks[owner(sample, batch, after.size)]
            expected[sender, receiver] += after.blocks.start * 5 * 8
    assert found == {"unit": "bytes per step", "pairs": expected.tolist()}


def log_of(losses):
    """Return the log of an epoch of which these rounds, (done, works), are done."""
    works = [SimpleNamespace(index=i, name=f"b{i}") for i in range(len(losses[0]))]
    log = LossLog(works, [Round(n, 0, n) for n in range(9)], CPU, 0)
    for place, row in enumerate(losses):
        for number, loss in enumerate(row):
            log.put(place, number, torch.tensor(loss))
        log.look(place + 1)
    return log


def test_the_last_loss_is_that_of_the_whole_batch():
    log = log_of([[0.5, 0.75], [0.25, 0.5]])
    assert log.latest() == 0.375
    for text, rank, batch, expected in [
        ("0-1@0", 0, 6, 0.375),
        ("0-1@0-2", 1, 6, 3 * 0.375),  # two samples of six: their part is a third
        ("0-1@0-3", 0, 6, 3 * 0.375),
        ("0-1@0-3", 3, 6, 6 * 0.375),
    ]:
        job = SimpleNamespace(
            choice=SimpleNamespace(schedule=parse(text)),
            comm=SimpleNamespace(rank=rank),
            program=SimpleNamespace(batch=batch),
        )
        assert _whole_loss(job, log) == pytest.approx(expected)


def test_no_loss_before_the_first_round_and_without_blocks():
    job = SimpleNamespace(choice=SimpleNamespace(schedule=None), comm=SimpleNamespace(rank=0))
    assert _whole_loss(job, None) is None
    assert log_of([[0.5]]).latest() == 0.5
    assert LossLog([], [Round(0, 0, 0)], CPU, 0).latest() is None


def test_sums_are_timed(monkeypatch):
    times = iter([1.0, 1.5, 4.0, 4.25])
    monkeypatch.setattr("hpc.pipebd.reducer.perf_counter", lambda: next(times))
    reducer = Timed(SimpleNamespace(rank=1, size=2, sum=lambda tensor: tensor + 1))
    assert reducer.sum(torch.zeros(1)) == 1 and reducer.sum(torch.ones(1)) == 2
    assert (reducer.rank, reducer.size, reducer.seconds) == (1, 2, 0.75)
