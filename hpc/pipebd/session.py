"""What every command under MPI begins with: device, transport, images, network; all checked."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

import torch
from mpi4py import MPI

from hpc.comm.buffers import Transport
from hpc.comm.devices import place
from hpc.comm.surroundings import surroundings
from hpc.comm.waiting import Waiting
from hpc.comm.world import AgreedError, owned, together
from hpc.io.errors import InputError
from hpc.io.image_arrays import Data, images_of
from hpc.io.images import ImagesFile
from hpc.io.outputs import check_outputs
from hpc.pipebd.devices import choose_transport, describe, make_transport
from hpc.pipebd.recipe import Recipe
from hpc.report.record import Record, recorded
from hpc.report.watch_options import check_watching

DTYPES = {"float32": torch.float32, "float64": torch.float64}

MOST_THREADS = 1024


@dataclass(frozen=True)
class Session:
    """What a command under MPI works with.

    Attributes
    ----------
    comm : MPI.Comm
        Our own.
    device : torch.device
        Of this rank.
    transport : Transport
        Of this rank.
    file : ImagesFile
        The images, open.
    """

    comm: MPI.Comm
    device: torch.device
    transport: Transport
    file: ImagesFile

    @property
    def first(self) -> bool:
        """Whether this rank prints."""
        return self.comm.rank == 0


@contextlib.contextmanager
def session(
    args: argparse.Namespace, world: MPI.Comm, waiting: Waiting | None = None
) -> Iterator[Session]:
    """Check what all commands share, set torch's threads and yield the session. Collective.

    Parameters
    ----------
    args : argparse.Namespace
        The options, the same on all ranks.
    world : MPI.Comm
        Of the job; duplicated for the session.
    waiting : Waiting, optional
        How a rank waits; `Yielding` unless given.

    Yields
    ------
    Session
        Its file is closed and its communicator freed behind the block.

    Raises
    ------
    AgreedError : on all ranks, for whatever is wrong on any.
    """
    torch.set_num_threads(args.threads if 0 < args.threads <= MOST_THREADS else 1)
    with owned(world) as comm:
        with together(comm):
            check_options(args, comm)
            if args.data is None:
                raise InputError("--data FILE.h5 is needed, except to --emulate a profile")
        with opened(comm, args.data, args.device, args.transport, waiting, print) as here:
            yield here


@contextlib.contextmanager
def opened(
    comm: MPI.Comm,
    data: Data,
    device: str = "auto",
    transport: str = "auto",
    waiting: Waiting | None = None,
    say: Callable[[str], None] = lambda line: None,
) -> Iterator[Session]:
    """Yield the session on these images. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Our own.
    data : Data
        Images file or arrays.
    device, transport : str
        As asked for, see `comm.devices.place` and `devices.choose_transport`.
    waiting : Waiting, optional
        How a rank waits; `Yielding` unless given.
    say : callable
        Told of devices and transport, line by line, on rank 0.

    Yields
    ------
    Session
        Its file is closed behind the block.

    Raises
    ------
    AgreedError : on all ranks, for whatever is wrong on any.
    """
    with contextlib.ExitStack() as open_files:
        with together(comm):
            file = open_files.enter_context(images_of(data))
        placement = place(comm, device)
        name, why = choose_transport(comm, transport, placement.device)
        for line in describe(comm, placement, name, why):
            say(line)
        made = make_transport(name, placement.device, waiting)
        yield Session(comm, placement.device, made, file)


def check_options(args: argparse.Namespace, comm: MPI.Comm) -> None:
    """Raise InputError for a number out of range or a file that cannot be written. Local.

    Parameters
    ----------
    args : argparse.Namespace
        The options; those that a command does not have are not checked.
    comm : MPI.Comm
        Of the run; files are checked on rank 0 only.

    Raises
    ------
    InputError : a number below 1, too many threads; a validation share outside [0, 1); fewer
        samples in a batch than ranks, but for schedules; an output that cannot be written or would
        replace another file.
    """
    for name in ("epochs", "batch", "threads", "steps", "queue", "profile_steps"):
        value = getattr(args, name, None)
        if value is not None and value < 1:
            raise InputError(f"--{name.replace('_', '-')} {value}: expected at least 1")
    if args.threads > MOST_THREADS:
        raise InputError(f"--threads {args.threads}: expected at most {MOST_THREADS}")
    held_out = getattr(args, "validation", 0.0)
    if not 0 <= held_out < 1:
        raise InputError(f"--validation {held_out}: expected a share from 0 to below 1")
    if args.batch < comm.size and not hasattr(args, "schedule"):
        raise InputError(f"--batch {args.batch}: smaller than the number of ranks, {comm.size}")
    if comm.rank == 0:
        check_outputs(vars(args), ["out", "json", "trace", "architecture_out"])
        check_watching(args, command_of(args))


def command_of(args: argparse.Namespace) -> str:
    """Return the name of the command: 'pipebd train'.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed; `what` is the command's.

    Returns
    -------
    str
        With the engine's name.
    """
    return f"pipebd {args.what}"


def kept_record(args: argparse.Namespace, comm: MPI.Comm) -> AbstractContextManager[Record]:
    """Return a context with the record of a run; see `report.record.recorded`. Collective.

    Parameters
    ----------
    args : argparse.Namespace
        The options.
    comm : MPI.Comm
        Of the run.

    Returns
    -------
    context manager
        That yields a `Record`, empty but on rank 0.
    """
    return recorded(args, command_of(args), surroundings(comm), comm.rank == 0)


def check_same_blocks(comm: MPI.Comm, shapes: Sequence[tuple[int, ...]]) -> None:
    """Check that all ranks have blocks of the same shapes. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run.
    shapes : sequence of tuple of int
        (B+1,) of one sample: of the inputs of this rank's blocks and of the last output.

    Raises
    ------
    AgreedError : on all ranks: one's differ from rank 0's.
    """
    everyone = comm.allgather(list(shapes))
    for rank, found in enumerate(everyone):
        if found != everyone[0]:
            raise AgreedError(
                f"--blocks gives rank {rank} {len(found) - 1} blocks of shapes {found[1:]}, "
                f"rank 0 {len(everyone[0]) - 1} of {everyone[0][1:]}; expected the same on all"
            )


def recipe_of(args: argparse.Namespace, file: ImagesFile) -> Recipe:
    """Return the recipe that the options ask for, with as many classes as the images have.

    Parameters
    ----------
    args : argparse.Namespace
        The options of a command with a workload.
    file : ImagesFile
        The images.

    Returns
    -------
    Recipe
        Not yet checked, see `build_network`.
    """
    return Recipe(
        workload=args.workload or "",
        blocks=getattr(args, "blocks", None) or "",
        shape=args.shape,
        width=args.width,
        n_classes=len(file.traits.classes),
        batch_norm=False if args.no_batch_norm else None,
        seed=args.seed,
        dtype=DTYPES[args.dtype],
    )


def check_classes(recipe: Recipe, file: ImagesFile) -> None:
    """Check that images have as many classes as a stored student of a workload names.

    Parameters
    ----------
    recipe : Recipe
        Of the student's file.
    file : ImagesFile
        The images.

    Raises
    ------
    InputError : another number of classes.
    """
    n_classes = len(file.traits.classes)
    if recipe.workload and recipe.n_classes != n_classes:
        raise InputError(
            f"{file.path}: images of {n_classes} classes, the student names {recipe.n_classes}"
        )
