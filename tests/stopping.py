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

from tests.launching import BANNER, ROOT

SECONDS = 60
MPIRUN = Path(sys.executable).with_name("mpirun")
LAUNCH = (sys.executable, "-m", "launch", "local", "-n")
"""Our own launcher instead of mpirun; what follows is a command of ours."""
OPEN_MPI = Path(sys.executable).with_name("ompi_info").exists()


@contextlib.contextmanager
def started(size, *words, launcher=(MPIRUN, "-n"), program=("-m", "hpc"), **options):
    """Start ``mpirun -n SIZE python -m hpc WORDS`` in a session of its own; it ends with the block.

    launcher, program : others than mpirun and hpc. options : of subprocess.Popen.
    """
    program = (sys.executable, *program) if launcher[0] == MPIRUN else ("--",)
    running = subprocess.Popen(
        [*map(str, (*launcher, size, *program, *words))],
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
    return running.returncode, output, BANNER.sub("", errors)


def processes(running):
    """Return the ranks' processes, in order."""
    found = {}
    for process in psutil.Process(running.pid).children(recursive=True):
        with contextlib.suppress(psutil.Error):
            rank = process.environ().get("PMI_RANK", process.environ().get("PMIX_RANK"))
            if rank is not None and "python" in process.name():
                found[int(rank)] = process
    return [found[rank] for rank in sorted(found)]


def ask(running, number, ranks=None):
    """Send mpirun a signal, or the last rank, where mpirun ends the job instead of passing it on.

    Open MPI's does that on TERM and INT. ranks : their processes, where they are known.
    """
    passed_on = not OPEN_MPI or number == signal.SIGUSR1
    (running if passed_on else (ranks or processes(running))[-1]).send_signal(number)


def wait_for(condition, seconds=SECONDS, pause_s=0.01):
    """Wait until a condition holds; look again after `pause_s`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(pause_s)


def newest_number(root):
    """Return the number of the newest checkpoint that has an index, 0 for none."""
    complete = root.glob("checkpoint-*/index.h5")
    return max((int(path.parent.name.rpartition("-")[2]) for path in complete), default=0)


def wait_for_checkpoint(root, number=1):
    """Wait until there is a complete checkpoint of this number or a later one."""
    wait_for(lambda: newest_number(root) >= number)
