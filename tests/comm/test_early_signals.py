"""A signal before MPI has started ends the job, whichever rank gets it."""

from __future__ import annotations

import signal

import pytest

from tests.launching import run_ranks

TIMED_OUT = 124


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
@pytest.mark.parametrize("ranks", ["0", "1", "0,1,2"])
@pytest.mark.parametrize("what", ["waits", "starts"])
def test_the_job_ends(number, ranks, what):
    ran = run_ranks(3, "-m", "tests.comm.early_signal", int(number), ranks, what, timeout=40)
    assert ran.returncode not in (0, TIMED_OUT), ran.stderr
    said = ran.stderr.count("interrupted (")  # Open MPI's mpirun passes SIGTERM on to the first
    assert said == 1 if "0" in ranks else said <= 1, ran.stderr
