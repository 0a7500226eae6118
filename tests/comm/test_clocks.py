"""The offset of clocks that the test sets apart."""

from __future__ import annotations

import time

import pytest

from hpc.comm import clocks


@pytest.mark.mpi
def test_the_offset_brings_every_clock_to_rank_0s(comm, monkeypatch):
    ahead = 1000.0 * comm.rank  # ranks of one host share a clock, so set theirs apart
    monkeypatch.setattr(clocks, "perf_counter", lambda: time.perf_counter() + ahead)
    assert clocks.offset_s(comm) == pytest.approx(-ahead, abs=1.0)
