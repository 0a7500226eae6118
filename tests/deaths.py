"""Kill ranks of a run that keeps checkpoints at random moments, and look at what is left."""

from __future__ import annotations

import contextlib
import os
import platform
import re
import signal
import time

import psutil

from hpc.io.checkpoint import check_part, read_index
from hpc.io.checkpoint_folder import checkpoint_path, numbers
from hpc.io.errors import FormatError
from tests.stopping import (
    LAUNCH,
    SECONDS,
    newest_number,
    processes,
    started,
    wait_for,
    wait_for_checkpoint,
)

OVER_S = 10
"""A job must be over in less."""
START_EVERY = 3
"""Every so manieth kill is while the job starts."""
MOMENT_S = 0.5
WRITING_S = 0.003
"""Of what it takes to write a small checkpoint."""


def killed_often(words, root, count, moments):
    """Start a run `count` times, kill a rank each time, and return the index of what is kept.

    words : of a run that is not over before. moments : where random numbers come from.
    """
    start_s = 0.0
    for death in range(count):
        starting = death % START_EVERY == START_EVERY - 1
        start_s = killed_once(words, root, moments, start_s if starting else None) or start_s
    return newest_index(root)


def killed_while_writing(words, root, count, moments):
    """Do the same with a run that always writes a checkpoint; most kills must find it at that."""
    half_written = 0

    def writing():
        wait_for(lambda: is_half_written(root), pause_s=0)
        time.sleep(moments.random() * WRITING_S)

    for _ in range(count):
        killed_once(words, root, moments, moment=writing)
        half_written += is_half_written(root)
    assert half_written > count // 2
    return newest_index(root)


def is_half_written(root):
    """Return whether the newest checkpoint has no index yet."""
    return numbers(root)[0] > newest_number(root)


def killed_once(words, root, moments, start_s=None, moment=lambda: None):
    """Kill a rank at some moment of the start, `start_s` long, or after a new checkpoint.

    moment : called before, waits for more. Returns how long it took to come to that checkpoint.
    """
    newest, began = newest_number(root), time.monotonic()
    with started(2, *words, launcher=LAUNCH) as running:
        wait_for(lambda: len(processes(running)) == 2)
        took_s = None
        if start_s is None:
            wait_for_checkpoint(root, newest + 1)
            took_s = time.monotonic() - began
            time.sleep(moments.random() * MOMENT_S)
        else:
            time.sleep(0.1 + moments.random() * start_s)
        kill(running, moments.randrange(2), start_s is None, moment)
    newest_index(root)
    return took_s


def kill(running, rank, mpi_runs, moment):
    """Kill a rank; check that the job ends soon, says who died, and leaves nothing behind.

    mpi_runs : whether MPI has started for sure; names of shared memory exist until then.
    moment : waits for it.
    """
    ranks = processes(running)
    family = psutil.Process(running.pid).children(recursive=True)
    segments = {name for process in ranks for name in shared_memory(process)}
    moment()
    ranks[rank].send_signal(signal.SIGKILL)
    began = time.monotonic()
    output, errors = running.communicate(timeout=SECONDS)
    assert running.returncode not in (0, 2, 3), output + errors
    said = rf"rank {rank} .*on (node )?{re.escape(platform.node())}"
    assert re.search(said, errors), output + errors
    assert psutil.wait_procs(family, timeout=OVER_S)[1] == []
    assert time.monotonic() - began < OVER_S
    if mpi_runs:
        assert segments
        assert not [name for name in segments if os.path.exists(name)]


def shared_memory(process):
    """Return the names, also former ones, of the shared memory of MPI that a process maps."""
    with contextlib.suppress(OSError), open(f"/proc/{process.pid}/maps") as maps:
        words = (line.split() for line in maps)
        return {line[5] for line in words if line[5:] and line[5].startswith("/dev/shm/")}
    return set()


def newest_index(root):
    """Return the index of the newest checkpoint that is whole; one that has an index must be."""
    for number in numbers(root):
        path = checkpoint_path(root, number)
        try:
            index = read_index(path)
        except FormatError as error:
            assert "half written" in str(error)
            continue
        for part in range(len(index.parts)):
            check_part(index, part)
        return index
    raise AssertionError("no checkpoint")
