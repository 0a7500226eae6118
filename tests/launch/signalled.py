"""A program on ranks that waits for a signal, as an engine would, and ends rank by rank.

It writes ``ready-RANK`` when it listens, then ``signal-RANK`` with the signal's number. A
second run of the same job ends well at once. As an engine it ends at once by a second
signal, and takes one within SAME_S for the first, passed on.
"""

import os
import signal
import sys
import time
from pathlib import Path

from mpi4py import MPI

LIMIT_S, SAME_S = 60, 1.0


def main():
    rank = MPI.COMM_WORLD.rank
    if int(os.environ.get("SLURM_RESTART_COUNT", "0")):
        print(f"rank {rank} goes on", flush=True)
        return 0
    got, at = [], []

    def take(number, frame):
        if got and time.monotonic() - at[0] > SAME_S:
            os._exit(128 + number)
        got.append(number)
        at.append(time.monotonic())

    for number in (signal.SIGUSR1, signal.SIGTERM):
        signal.signal(number, take)
    Path(f"ready-{rank}").touch()
    deadline = time.monotonic() + LIMIT_S
    while not got and time.monotonic() < deadline:
        time.sleep(0.02)
    MPI.Finalize()
    time.sleep(SAME_S + 0.4 * rank)  # the others are still writing when the first has ended
    Path(f"signal-{rank}").write_text(f"{int(got[0]) if got else 0}\n")
    return 3


if __name__ == "__main__":
    sys.exit(main())
