"""Runs under Open MPI whose ranks may outlive each other (ULFM), and the runs they must equal."""

from __future__ import annotations

import re
import shutil
import signal

import pytest

from hpc.io.checkpoint_folder import checkpoint_path, numbers
from tests.launching import run_ranks
from tests.stopping import (
    MPIRUN,
    OPEN_MPI,
    newest_number,
    outcome,
    processes,
    started,
    wait_for_checkpoint,
)

ULFM = (MPIRUN, "--with-ft", "ulfm", "-n")
SHRINK = ("--on-failure", "shrink", "--keep", 1000)
"""All checkpoints are kept, so that another run can begin at the same one."""
DIED = re.compile(r"hpc: (rank .* died; .*)")
BEGAN = re.compile(r"checkpoint .*/checkpoint-(\d+): going on after step")
needs_ulfm = pytest.mark.skipif(
    not OPEN_MPI, reason="no ULFM in MPICH; make test-openmpi runs this under Open MPI"
)


def outlived(size, words, root, dead):
    """Start a run and kill the ranks `dead`, each after a new checkpoint; the run must end well.

    Returns what it printed, and its words on who died.
    """
    with started(size, *words, *SHRINK, launcher=ULFM) as running:
        wait_for_checkpoint(root)
        ranks = processes(running)
        for rank in dead:
            wait_for_checkpoint(root, newest_number(root) + 1)
            ranks[rank].send_signal(signal.SIGKILL)
        code, output, errors = outcome(running)
    assert code == 0, (code, output, errors)
    assert "Traceback" not in errors, errors
    return output, DIED.findall(errors)


def began_there(size, words, output, root, other):
    """Run on `size` ranks from where the last of the survivors began.

    other : a folder to make, which is given to the run instead of `root`.
    """
    number = int(BEGAN.findall(output)[-1])
    shutil.copytree(root, other)
    for later in numbers(other):
        if later > number:
            shutil.rmtree(checkpoint_path(other, later))
    ran = run_ranks(size, "-m", "hpc", *(other if word == root else word for word in words))
    assert ran.returncode == 0, ran.stderr
    assert int(BEGAN.findall(ran.stdout)[-1]) == number
