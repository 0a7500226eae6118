"""Communicators of our own, errors agreed on by all ranks, and the end of a program."""

from __future__ import annotations

import contextlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator

from mpi4py import MPI

from hpc.io.errors import EXIT_BAD_INPUT, InputError

LAST_WORDS_S = 0.3


class AgreedError(InputError):
    """An InputError that every rank of the communicator raises together."""


@contextlib.contextmanager
def owned(comm: MPI.Comm) -> Iterator[MPI.Comm]:
    """Yield a duplicate of `comm` for our own messages; free it at the end.

    It is not freed when an exception passes: peers may never reach the collective free.
    """
    mine = comm.Dup()
    yield mine
    mine.Free()


def agree(comm: MPI.Comm, error: InputError | None) -> None:
    """Raise the same AgreedError on all ranks if `error` is set on any. Collective.

    The message is that of the lowest rank that has one.
    """
    first = comm.allreduce(comm.rank if error else comm.size, op=MPI.MIN)
    if first < comm.size:
        message = comm.bcast(str(error), root=first)
        raise AgreedError(message) from error


@contextlib.contextmanager
def together(comm: MPI.Comm) -> Iterator[None]:
    """Run local checks; if they raise InputError on any rank, all ranks raise it. Collective.

    The block itself must call no collective: a rank that raises would not reach it.
    """
    error: InputError | None = None
    try:
        yield
    except AgreedError:
        raise
    except InputError as found:
        error = found
    agree(comm, error)


def run_program(main: Callable[[], int], comm: MPI.Comm) -> int:
    """Run an MPI program and return its exit code; never strands a peer.

    An AgreedError is printed once, by rank 0, and is exit code 2. Anything else that a rank
    raises ends the whole job by Abort, with the rank, the message and the traceback.
    """
    try:
        return main()
    except AgreedError as error:
        if comm.rank == 0:
            print(f"hpc: error: {error}", file=sys.stderr, flush=True)
        return EXIT_BAD_INPUT
    except InputError as error:
        print(f"[rank {comm.rank}] hpc: error: {error}", file=sys.stderr, flush=True)
        _abort(comm, EXIT_BAD_INPUT)
    except Exception:
        host = MPI.Get_processor_name()
        print(f"[rank {comm.rank} on {host}] uncaught exception", file=sys.stderr)
        traceback.print_exc()
        _abort(comm, 1)
    return 1


def _abort(comm: MPI.Comm, code: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    if comm.size > 1:
        time.sleep(LAST_WORDS_S)  # the launcher drops what it has not read when it ends the job
        comm.Abort(code)
    sys.exit(code)
