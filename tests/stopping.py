"""Commands under mpirun that are stopped while they run: by signals, or by a rank's death."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.launching import ROOT

SECONDS = 60
OPEN_MPI = Path(sys.executable).with_name("ompi_info").exists()


@contextlib.contextmanager
def started(size, *words, **options):
    """Start ``mpirun -n SIZE python -m hpc WORDS`` in a session of its own; it ends with the block.

    options : of subprocess.Popen.
    """
    mpirun = Path(sys.executable).with_name("mpirun")
    running = subprocess.Popen(
        [str(mpirun), "-n", str(size), sys.executable, "-m", "hpc", *map(str, words)],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"},
        start_new_session=True, **options,
    )  # fmt: skip
    try:
        yield running
    finally:
        if running.poll() is None:
            running.terminate()
            time.sleep(1)
            running.kill()
            running.communicate()


def outcome(running):
    """Return exit code, standard output and standard error of a command that ends by itself."""
    output, errors = running.communicate(timeout=SECONDS)
    return running.returncode, output, errors


def processes(running):
    """Return the ranks' processes, in order."""
    found = {}
    for process in psutil.Process(running.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            rank = process.environ().get("PMI_RANK", process.environ().get("PMIX_RANK"))
            if rank is not None and "python" in process.name():
                found[int(rank)] = process
    return [found[rank] for rank in sorted(found)]


def ask(running, number):
    """Send mpirun a signal, or the last rank, where mpirun ends the job instead of passing it on.

    Open MPI's does that on TERM and INT.
    """
    passed_on = not OPEN_MPI or number == signal.SIGUSR1
    (running if passed_on else processes(running)[-1]).send_signal(number)


def wait_for(condition, seconds=SECONDS):
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.01)


def wait_for_checkpoint(root, count=1):
    """Wait until there is a complete checkpoint."""
    wait_for(lambda: len(list(root.glob("checkpoint-*/index.h5"))) >= count)


def kill(running, rank):
    """Kill a rank; return what the launcher makes of it, or None where the run was over before."""
    alive = processes(running) if running.poll() is None else []
    if rank >= len(alive):
        assert outcome(running)[0] == 0
        return None
    alive[rank].send_signal(signal.SIGKILL)
    return outcome(running)
