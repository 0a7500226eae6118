"""Communicators of our own, errors agreed on by all ranks, and the end of a program."""

from __future__ import annotations

import contextlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator

from mpi4py import MPI

from hpc.comm.ending import end_process, outlived
from hpc.io.errors import EXIT_BAD_INPUT, InputError

LAST_WORDS_S = 0.3


class AgreedError(InputError):
    """An InputError that every rank of the communicator raises together."""


@contextlib.contextmanager
def owned(comm: MPI.Comm) -> Iterator[MPI.Comm]:
    """Yield a duplicate of `comm` for our own messages; free it at the end. Collective.

    It is not freed when an exception passes: peers may never reach the collective free.

    Parameters
    ----------
    comm : MPI.Comm
        Whose ranks all enter the block.

    Yields
    ------
    MPI.Comm
        The duplicate.
    """
    mine = comm.Dup()
    yield mine
    mine.Free()


def agree(comm: MPI.Comm, error: InputError | None) -> None:
    """Raise the same AgreedError on all ranks if `error` is set on any. Collective.

    The message is that of the lowest rank that has one.

    Parameters
    ----------
    comm : MPI.Comm
        Of the ranks that agree.
    error : InputError or None
        What this rank has found.

    Raises
    ------
    AgreedError : on all ranks, from this rank's own error if it has one.
    """
    first = comm.allreduce(comm.rank if error else comm.size, op=MPI.MIN)
    if first < comm.size:
        message = comm.bcast(str(error), root=first)
        raise AgreedError(message) from error


@contextlib.contextmanager
def together(comm: MPI.Comm) -> Iterator[None]:
    """Run local checks; if they raise InputError on any rank, all ranks raise it. Collective.

    The block itself must call no collective: a rank that raises would not reach it.

    Parameters
    ----------
    comm : MPI.Comm
        Of the ranks that check.

    Raises
    ------
    AgreedError : on all ranks, see `agree`; one that the block raises passes as it is, unagreed.
    """
    error: InputError | None = None
    try:
        yield
    except AgreedError:
        raise
    except InputError as found:
        error = found
    agree(comm, error)


PEER_LOST = (
    "an MPI call failed, most likely because another rank has died and not this one; "
    "started by `python -m launch local`, the first that ended is named"
)
PEER_LOST_S = 0.9
"""Before a rank says so: what has ended its peer, a signal to all, may be about to end it too."""


def run_program(main: Callable[[], int], comm: MPI.Comm) -> int:
    """Run an MPI program and return its exit code; never strands a peer.

    Where `outcome` finds something on this rank alone, the whole job ends by Abort.

    Parameters
    ----------
    main : callable
        The program; returns its exit code.
    comm : MPI.Comm
        Of all its ranks.

    Returns
    -------
    int
        That of `main`, or 2 on all ranks for an AgreedError.

    Raises
    ------
    SystemExit : instead of Abort, where `comm` has one rank.
    """
    code, alone = outcome(main, comm)
    if alone:
        _abort(comm, code)
    return code


def outcome(main: Callable[[], int], comm: MPI.Comm) -> tuple[int, bool]:
    """Run an MPI program; return its exit code, and whether peers may wait for this rank.

    An AgreedError is printed once, by rank 0, and is exit code 2. Anything else that is raised is
    of this rank alone; it is said with the rank and, unless it is an InputError, the traceback.

    Parameters
    ----------
    main : callable
        The program; returns its exit code.
    comm : MPI.Comm
        Of all its ranks; only its rank and size are asked for.

    Returns
    -------
    code : int
        That of `main`; 2 for an InputError, 1 for another exception.
    alone : bool
        Whether what was raised is of this rank alone.
    """
    try:
        return main(), False
    except AgreedError as error:
        if comm.rank == 0:
            print(f"hpc: error: {error}", file=sys.stderr, flush=True)
        return EXIT_BAD_INPUT, False
    except InputError as error:
        print(f"[rank {comm.rank}] hpc: error: {error}", file=sys.stderr, flush=True)
        return EXIT_BAD_INPUT, True
    except Exception as error:
        by_a_peer = isinstance(error, MPI.Exception) and comm.size > 1
        if by_a_peer:
            time.sleep(PEER_LOST_S)
        me = f"[rank {comm.rank} on {MPI.Get_processor_name()}]"
        print(f"{me} uncaught exception", file=sys.stderr)
        traceback.print_exc()
        if by_a_peer:
            print(f"{me} hpc: {PEER_LOST}", file=sys.stderr)
        return 1, True


def _abort(comm: MPI.Comm, code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    if comm.size > 1:
        time.sleep(LAST_WORDS_S)  # the launcher drops what it has not read when it ends the job
        if outlived():
            end_process(code)
        comm.Abort(code)
    sys.exit(code)
