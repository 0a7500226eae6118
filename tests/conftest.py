"""Fixtures and hang protection for one process and for mpirun (see docs/design.md, Tests)."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

MPI_RUN = "PMI_RANK" in os.environ or "OMPI_COMM_WORLD_RANK" in os.environ


settings.register_profile(
    "relaycut",
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
settings.load_profile("relaycut")  # under mpirun every rank must draw the same examples


@pytest.hookimpl(trylast=True)
def pytest_configure(config):
    """Let only rank 0 of an mpirun print the report; the others fail aloud by themselves."""
    if MPI_RUN and _rank() > 0:
        reporter = config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None:
            reporter._tw._file = open(os.devnull, "w")  # noqa: SIM115 - lives as long as the run


STARTERS = ("run_ranks", "started")
"""What modules take from `launching` or `stopping` to start mpirun."""


def pytest_collection_modifyitems(items):
    """Mark the tests of modules that start mpirun."""
    for item in items:
        if any(hasattr(item.module, name) for name in STARTERS):
            item.add_marker("launches")


def _rank() -> int:
    return int(os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """End the whole job when a test fails on one rank: its peers would wait for ever."""
    outcome = yield
    report = outcome.get_result()
    if MPI_RUN and report.failed:
        from mpi4py import MPI

        rank, size = MPI.COMM_WORLD.rank, MPI.COMM_WORLD.size
        text = f"[rank {rank}/{size}] FAILED {item.nodeid} ({report.when})\n{report.longreprtext}\n"
        os.write(2, text.encode())
        if size > 1:
            MPI.COMM_WORLD.Abort(1)


@pytest.fixture
def comm():
    """Return a communicator of the test's own."""
    from mpi4py import MPI

    fresh = MPI.COMM_WORLD.Dup()
    yield fresh
    fresh.Free()


@pytest.fixture
def part(comm):
    """Return a communicator of all ranks but the last, which gets None, unless it is alone."""
    from mpi4py import MPI

    some = comm.Split(0 if comm.rank < max(1, comm.size - 1) else MPI.UNDEFINED, -comm.rank)
    yield None if some == MPI.COMM_NULL else some
    if some != MPI.COMM_NULL:
        some.Free()


@pytest.fixture
def shared_tmp(comm, tmp_path_factory):
    """Return one temporary folder that all ranks see, on this host."""
    path = str(tmp_path_factory.mktemp("shared")) if comm.rank == 0 else None
    return Path(comm.bcast(path))


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of larger data (RELAYCUT_DATA or ../shared/data), or skip."""
    root = Path(__file__).parents[1]
    for folder in (os.environ.get("RELAYCUT_DATA"), root.parent / "shared" / "data"):
        if folder and (Path(folder) / "mnist").is_dir():
            return Path(folder)
    pytest.skip("no larger data: set RELAYCUT_DATA")
