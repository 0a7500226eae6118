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
    """What a command under MPI works with. comm : our own. file : the images."""

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
    """Check what all commands share and yield the session. Collective.

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
    comm : our own. data : images file or arrays. device, transport : see `devices`.
    waiting : how a rank waits. say : told of devices and transport, on rank 0.

    Yields
    ------
    The session.

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
    """Raise InputError for a number below 1 or a file that cannot be written. Local."""
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
    """Return the name of the command: 'pipebd train'."""
    return f"pipebd {args.what}"


def kept_record(args: argparse.Namespace, comm: MPI.Comm) -> AbstractContextManager[Record]:
    """Return a context with the record of a run; see `report.record.recorded`. Collective."""
    return recorded(args, command_of(args), surroundings(comm), comm.rank == 0)


def check_same_blocks(comm: MPI.Comm, shapes: Sequence[tuple[int, ...]]) -> None:
    """Raise AgreedError on all ranks unless all have blocks of the same shapes. Collective."""
    everyone = comm.allgather(list(shapes))
    for rank, found in enumerate(everyone):
        if found != everyone[0]:
            raise AgreedError(
                f"--blocks gives rank {rank} {len(found) - 1} blocks of shapes {found[1:]}, "
                f"rank 0 {len(everyone[0]) - 1} of {everyone[0][1:]}; expected the same on all"
            )


def recipe_of(args: argparse.Namespace, file: ImagesFile) -> Recipe:
    """Return the recipe that the options ask for, with as many classes as the images have."""
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
    """Raise InputError for images of other classes than a stored student names."""
    n_classes = len(file.traits.classes)
    if recipe.workload and recipe.n_classes != n_classes:
        raise InputError(
            f"{file.path}: images of {n_classes} classes, the student names {recipe.n_classes}"
        )
