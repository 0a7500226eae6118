"""Where a run begins: the first rank alone lists the folder, and all hear of what it finds."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from hpc.comm.checkpoint_start import find_start, newest_number
from hpc.comm.world import AgreedError
from hpc.io.checkpoint_folder import checkpoint_path
from hpc.io.checkpoint_options import CheckpointOptions, Every

pytestmark = pytest.mark.mpi


@pytest.fixture
def folder(comm, shared_tmp):
    """Return a folder with two checkpoints, neither of which is complete."""
    if comm.rank == 0:
        for number in (3, 12):
            checkpoint_path(shared_tmp, number).mkdir()
    comm.Barrier()
    return shared_tmp


def options(root):
    return CheckpointOptions(root, Every(steps=1))


def listing_fails(monkeypatch):
    def fail(path):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(Path, "iterdir", fail)


def test_other_ranks_need_not_list_it(comm, folder, monkeypatch):
    if comm.rank:
        listing_fails(monkeypatch)
    assert newest_number(comm, folder) == 12
    start = find_start(comm, options(folder), {})
    assert (start.number, start.index, start.broken) == (12, None, {3, 12})


def test_a_folder_that_the_first_rank_cannot_list_is_an_error_on_all(comm, folder, monkeypatch):
    if comm.rank == 0:
        listing_fails(monkeypatch)
    for find in (newest_number, lambda comm, root: find_start(comm, options(root), {})):
        with pytest.raises(AgreedError, match=r"--checkpoint .*: cannot be read \(Input/output"):
            find(comm, folder)


def test_no_folder(comm, shared_tmp):
    assert newest_number(comm, shared_tmp / "none") == 0
    with pytest.raises(AgreedError, match="no such folder here"):
        find_start(comm, options(shared_tmp / "none"), {})
