"""The offset of clocks that the test sets apart."""

from __future__ import annotations

import time

import pytest

from hpc.comm import clocks


@pytest.mark.mpi
def test_the_offset_brings_every_clock_to_rank_0s(comm, monkeypatch):
    ahead = 1000.0 * comm.rank  # ranks of one host share a clock, so set theirs apart
    monkeypatch.setattr(clocks, "perf_counter", lambda: time.perf_counter() + ahead)
    monkeypatch.setattr(clocks.MPI, "Get_processor_name", lambda: f"host{comm.rank}")
    assert clocks.offset_s(comm) == pytest.approx(-ahead, abs=1.0)


@pytest.mark.mpi
def test_ranks_of_a_host_share_its_clock(comm):
    assert clocks.offset_s(comm) == 0
