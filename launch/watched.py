"""MPICH's mpirun with a watcher beside it.

Its own last words name no rank but a process, and not always the one that died.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import platform
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

PASSED_ON = (signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP)
FROM_THE_TERMINAL = 0x80
"""si_code of a signal that the kernel sends: mpirun has it too."""
OWN_CODES = (0, 2, 3, 128 + signal.SIGINT, 128 + signal.SIGTERM)
"""Exit codes with which all ranks end by themselves, and the first says why."""
LOOK_S = 0.01
PR_SET_PDEATHSIG = 1
PROC = Path("/proc")


def run_watched(argv: Sequence[str], environment: Mapping[str, str], ranks: int) -> int:
    """Run an mpirun to its end.

    Signals are passed on, but for those of the terminal, which mpirun has too. When a rank has
    died, which one is said on standard error. Only in the main thread.

    Parameters
    ----------
    argv : sequence of str
        Words of its command line.
    environment : mapping of str to str
        All of it.
    ranks : int
        That mpirun starts here.

    Returns
    -------
    int
        Its exit code, as a shell has it: 128 + signal where a signal has ended it.
    """
    heeded = {signal.SIGINT, signal.SIGCHLD, *PASSED_ON}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # who started this may ignore it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, heeded)

    def prepare() -> None:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

    try:
        running = subprocess.Popen(argv, env=environment, preexec_fn=prepare)
        deaths = FirstDeath(running.pid, ranks)
        asked = _pass_signals_on(running, heeded)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    code = running.returncode if running.returncode >= 0 else 128 - running.returncode
    if code not in OWN_CODES and not asked and deaths.rank is not None:
        where = f"rank {deaths.rank} on {platform.node()} (PID {deaths.process})"
        print(f"launch: {where} ended first, the job with exit code {code}", file=sys.stderr)
    return code


def _pass_signals_on(running: subprocess.Popen[bytes], heeded: Collection[int]) -> bool:
    """Wait until a process ends; return whether there was a signal for it."""
    asked = False
    while running.poll() is None:
        found = signal.sigwaitinfo(heeded)
        if found.si_signo != signal.SIGCHLD:
            asked = True
            if found.si_code != FROM_THE_TERMINAL:
                running.send_signal(found.si_signo)
    return asked


class FirstDeath:
    """Watches the ranks below an mpirun, from a thread of its own.

    Parameters
    ----------
    mpirun : int
        Its process.
    ranks : int
        That it starts here.

    Attributes
    ----------
    rank : int or None
        That ended first; None as long as none has.
    process : int
        Its process; 0 as long as none has.
    """

    def __init__(self, mpirun: int, ranks: int) -> None:
        self.rank: int | None = None
        self.process = 0
        self._mpirun, self._ranks = mpirun, ranks
        threading.Thread(target=self._watch, name="deaths", daemon=True).start()

    def _watch(self) -> None:
        poll, watched = select.epoll(), dict[int, tuple[int, int]]()
        while self.rank is None:
            if len(watched) < self._ranks:
                self._add_new(poll, watched)
            wait_s = LOOK_S if len(watched) < self._ranks else None
            for handle, _ in poll.poll(wait_s, 1):  # the kernel keeps them in the order of events
                self.process, self.rank = watched[handle]

    def _add_new(self, poll: select.epoll, watched: dict[int, tuple[int, int]]) -> None:
        known = {process for process, _ in watched.values()}
        for process, rank in rank_processes(self._mpirun):
            if process not in known:
                with contextlib.suppress(OSError):
                    handle = os.pidfd_open(process)
                    watched[handle] = process, rank
                    poll.register(handle, select.EPOLLIN)


def rank_processes(mpirun: int) -> list[tuple[int, int]]:
    """Return process and rank of what MPICH's mpirun has started: children of its children.

    Parameters
    ----------
    mpirun : int
        Its process.

    Returns
    -------
    list of (int, int)
        Those that are there by now.
    """
    found = []
    for helper in _children(mpirun):
        for process in _children(helper):
            with contextlib.suppress(OSError):
                words = (PROC / str(process) / "environ").read_bytes().split(b"\0")
                ranks = [w.partition(b"=")[2] for w in words if w.startswith(b"PMI_RANK=")]
                found += [(process, int(rank)) for rank in ranks]
    return found


def _children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        listed = (PROC / str(process) / "task" / str(process) / "children").read_text()
        return [int(word) for word in listed.split()]
    return []
