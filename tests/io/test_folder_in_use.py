"""A folder belongs to one process at a time, and to nobody once that is gone, however it ended."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys

import pytest

from hpc.io.errors import InputError
from hpc.io.folder_in_use import folder_in_use
from tests.launching import ROOT, run_alone, run_ranks

HOLDER = """
import sys, time
from pathlib import Path
from hpc.io.folder_in_use import folder_in_use
with folder_in_use(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    found = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path], stdout=subprocess.PIPE, cwd=ROOT, text=True
    )
    assert found.stdout.readline() == "held\n"
    yield found
    found.kill()
    found.wait()


def test_another_process_is_named_and_refused(holder, tmp_path):
    named = rf"in use by another run \(process {holder.pid} on "
    with pytest.raises(InputError, match=named), folder_in_use(tmp_path, patience_s=0.3):
        pass


def test_a_killed_process_lets_go(holder, tmp_path):
    os.kill(holder.pid, signal.SIGKILL)
    with folder_in_use(tmp_path, patience_s=5):
        assert str(os.getpid()) in (tmp_path / ".in-use").read_text()


def test_it_is_free_afterwards(tmp_path):
    for _ in range(2):
        with pytest.raises(KeyError), folder_in_use(tmp_path, patience_s=0):
            raise KeyError


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    def unknown(file, how):
        raise OSError(errno.ENOTSUP, os.strerror(errno.ENOTSUP))

    monkeypatch.setattr(fcntl, "flock", unknown)
    with folder_in_use(tmp_path, patience_s=0):
        assert (tmp_path / ".in-use").exists()


def test_a_file_system_that_locks_what_is_open_for_writing(tmp_path, monkeypatch):
    ours = fcntl.flock

    def like_nfs(file, how):
        if fcntl.fcntl(file, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        ours(file, how)

    monkeypatch.setattr(fcntl, "flock", like_nfs)
    held, again = (folder_in_use(tmp_path, patience_s=0) for _ in range(2))
    with held, pytest.raises(InputError, match="in use"), again:
        pass
    with folder_in_use(tmp_path, patience_s=0):
        pass


def test_a_second_run_in_the_folder_ends_with_one_message(holder, tmp_path):
    words = ("--sizes", "784,10", "--degree", "8", "--activation", "identity")
    run_alone("-m", "datasets", "random", *words, "--out", tmp_path / "net.h5")
    digits = ROOT / "hpc" / "samples" / "digits.h5"
    command = ("-m", "hpc", "spdnn", "train", tmp_path / "net.h5", digits, "--quiet")
    ran = run_ranks(2, *command, "--checkpoint", tmp_path)
    assert ran.returncode == 2 and ran.stderr.count("in use by another run") == 1, ran.stderr
    assert not list(tmp_path.glob("checkpoint-*"))
