"""Files that cannot be opened at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

import pytest

from hpc.io.archive import check_archive
from hpc.io.container import create, format_of, opened
from hpc.io.errors import FormatError

NOBODY = 65534


@contextlib.contextmanager
def without_privileges():
    """Be a user who may not read everything."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)


@pytest.fixture
def unreadable():
    """Return a file of ours that nobody may read, in a folder that everybody may enter."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        path = Path(folder) / "x.h5"
        with create(path, "network", 1):
            pass
        path.chmod(0)
        yield path


def read(path):
    with opened(path, "network", 1):
        pass


@pytest.mark.parametrize("use", [read, format_of, check_archive])
def test_a_file_that_may_not_be_read(unreadable, use):
    with (
        without_privileges(),
        pytest.raises(FormatError, match=r"x.h5: cannot be read \(Permission denied\)"),
    ):
        use(unreadable)
