"""Run by test_early_signals: some ranks get a signal before MPI starts, the others start it."""

from __future__ import annotations

import os
import signal
import sys
import time

from hpc.comm.interrupt import end_on_signals
from hpc.comm.launcher import launched_rank
from hpc.comm.mpi_start import start_mpi


def main() -> None:
    """Arguments: the signal, the ranks that get it, and whether these try to start MPI as well."""
    number, ranks, starts = int(sys.argv[1]), sys.argv[2].split(","), sys.argv[3] == "starts"
    end_on_signals(launched_rank() == 0, lambda: None)
    if str(launched_rank()) in ranks:
        os.kill(os.getpid(), number)
        if not starts:
            signal.pause()
            time.sleep(60)
    start_mpi()
    time.sleep(60)


if __name__ == "__main__":
    main()
