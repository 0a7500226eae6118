"""Where a run begins: at the newest complete checkpoint of its folder, or at its first step."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpi4py import MPI

from hpc.comm.notice import notice
from hpc.comm.world import AgreedError, together
from hpc.io.checkpoint import Index, check_part, read_index
from hpc.io.checkpoint_folder import (
    check_root,
    checkpoint_path,
    differences,
    make_root,
    numbers,
)
from hpc.io.checkpoint_options import CheckpointOptions
from hpc.io.errors import InputError
from hpc.io.folder_in_use import folder_in_use


@dataclass(frozen=True)
class Start:
    """Where a run begins.

    number : of the newest checkpoint there is, whole or not. index : to go on from, or None.
    broken : numbers of those that were found not to be whole.
    """

    number: int
    index: Index | None
    broken: frozenset[int] = frozenset()

    @property
    def step(self) -> int:
        """Steps done before."""
        return self.index.step if self.index is not None else 0


@contextlib.contextmanager
def folder_for(comm: MPI.Comm, root: Path) -> Iterator[None]:
    """Make the folder of checkpoints and hold it during the block. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        The ranks of the run; the first one holds the folder for all.
    root : Path
        The folder; made where it is not there.

    Yields
    ------
    None
        While the folder is held.

    Raises
    ------
    AgreedError
        On all ranks: the folder cannot be made, or another run has it.
    """
    with contextlib.ExitStack() as held:
        with together(comm):
            if comm.rank == 0:
                make_root(root)
                held.enter_context(folder_in_use(root))
        yield


def find_start(comm: MPI.Comm, options: CheckpointOptions, run: dict[str, Any]) -> Start:
    """Return where a run begins; the first rank says what is skipped and what is found. Collective.

    The ranks share the work of reading through the parts.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the run, which share a folder; of any size.
    options : CheckpointOptions
        The folder, which is made where it is missing; `fresh` and `after` say what is passed over.
    run : dict
        What the run is, by name, as JSON can hold it; that of the first rank counts.

    Returns
    -------
    Start
        The same on all ranks; no index where no checkpoint is complete or looked at.

    Raises
    ------
    AgreedError : on all ranks: the folder cannot be used; its checkpoints are of another run.
    """
    with together(comm):
        check_root(options.root)
    found = _numbers(comm, options.root)
    newest = found[0] if found else 0
    broken: set[int] = set()
    after = newest if options.fresh else options.after
    for number in (number for number in found if number > after):
        index = _complete(comm, options, number)
        if index is not None:
            _check_run(comm, index, run)
            if comm.rank == 0:
                print(f"checkpoint {index.folder}: going on after step {index.step}", flush=True)
            return Start(newest, index, frozenset(broken))
        broken.add(number)
    if broken and comm.rank == 0:
        notice("no checkpoint is complete: the run begins anew")
    return Start(newest, None, frozenset(broken))


def newest_number(comm: MPI.Comm, root: Path) -> int:
    """Return the number of the newest checkpoint in a folder, whole or not. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of all ranks of the run; the first looks.
    root : Path
        The folder, which need not be there.

    Returns
    -------
    int
        From 1, the same on all ranks; 0 where there is none.

    Raises
    ------
    AgreedError : on all ranks: the folder cannot be read.
    """
    found = _numbers(comm, root)
    return found[0] if found else 0


def _numbers(comm: MPI.Comm, root: Path) -> list[int]:
    """Return the numbers of the checkpoints that the first rank sees, newest first. Collective."""
    found: list[int] = []
    with together(comm):
        if comm.rank == 0:
            found = numbers(root)
    return list(comm.bcast(found))


def _complete(comm: MPI.Comm, options: CheckpointOptions, number: int) -> Index | None:
    """Return the index of a checkpoint if all of it is whole. Collective."""
    path = checkpoint_path(options.root, number)
    try:
        with together(comm):
            index = read_index(path)
            for part in range(comm.rank, len(index.parts), comm.size):
                check_part(index, part)
    except AgreedError as error:
        if comm.rank == 0:
            notice(f"checkpoint {path.name} is skipped: {error}")
        return None
    return index


def _check_run(comm: MPI.Comm, index: Index, run: dict[str, Any]) -> None:
    with together(comm):
        differ = differences(index.run, json.loads(json.dumps(run))) if comm.rank == 0 else ""
        if differ:
            raise InputError(
                f"--checkpoint: {index.folder} is of another run: {differ}; choose another folder, "
                "or --fresh to begin anew"
            )
