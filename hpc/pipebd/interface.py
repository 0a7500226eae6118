"""Pipe-BD for a user's own mpi4py script: what the commands do, with their communicator.

Every function is collective over the communicator that it is given, uses a duplicate of that
one and no other, and raises `AgreedError`, a ValueError, on all ranks for input that is wrong
on any: values, and arguments of other types. Only what is no communicator, and the launcher of
another MPI than mpi4py's, raise a plain `InputError` on each process, which knows of no other.
Nothing is printed, and no signal handler is set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace

import torch
from mpi4py import MPI
from torch import nn

from hpc.comm.borrowed import borrowed
from hpc.comm.sameness import same_on_all
from hpc.comm.world import together
from hpc.io.arguments import (
    FLAG,
    FUNCTION,
    NUMBER,
    PATH,
    SEED,
    TEXT,
    WHOLE,
    check_arguments,
    instance,
    or_none,
    shown,
)
from hpc.io.aside import check_writable
from hpc.io.checkpoint_options import CheckpointOptions
from hpc.io.errors import InputError
from hpc.io.image_arrays import Data
from hpc.io.images import ImagesFile
from hpc.pipebd.assembling import assembled
from hpc.pipebd.blocks import BlockPair, check_parameters
from hpc.pipebd.checkpoint_run import Keeping
from hpc.pipebd.checkpoint_state import digest_of
from hpc.pipebd.distillation import Distilled, EpochReport, distill
from hpc.pipebd.execution import Job
from hpc.pipebd.measuring import measure_prepared
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.names import BASELINES
from hpc.pipebd.nas import Architecture
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.outlook import Plan
from hpc.pipebd.pipeline import Advance
from hpc.pipebd.planning import plan_run
from hpc.pipebd.preparation import Prepared, TrainingOptions, prepare
from hpc.pipebd.profile_data import Profile, check_fits
from hpc.pipebd.profile_file import read_profile
from hpc.pipebd.recipe import Network, Recipe, user_network
from hpc.pipebd.run_identity import identity
from hpc.pipebd.session import DTYPES, Session, check_same_blocks, opened
from hpc.pipebd.student_file import write_student
from hpc.pipebd.supervised import SupervisedEpoch, shared_accuracy, train_on_labels
from hpc.pipebd.training_data import Images, split_images
from hpc.report.record import Record

Path = str | os.PathLike[str]
Blocks = str | Recipe | Sequence[BlockPair]
"""A list of pairs; or 'MODULE:FUNCTION' that returns one; or a workload, by name or `Recipe`."""
OWN = "blocks of a list"
"""How blocks that were given as a list are called in profiles and checkpoints."""

ARGUMENTS = {
    "schedule": TEXT,
    "options": instance(TrainingOptions, said="TrainingOptions"),
    "profile": or_none(instance(str, os.PathLike, Profile, said="a path, a Profile")),
    **dict.fromkeys(("profile_steps", "queue", "batch", "epochs", "steps"), WHOLE),
    "out": or_none(PATH),
    "checkpoint": or_none(instance(CheckpointOptions, said="CheckpointOptions")),
    **dict.fromkeys(("dtype", "device", "transport"), TEXT),
    "seed": SEED,
    **dict.fromkeys(("on_epoch", "progress"), FUNCTION),
    "model": instance(nn.Module, said="a module of torch"),
    "settings": instance(SgdSettings, said="SgdSettings"),
    **dict.fromkeys(("validation", "smoothing"), NUMBER),
}
"""What arguments of the functions may be; blocks and data are looked at as they are taken."""
RECIPE = {
    **dict.fromkeys(("workload", "blocks", "shape"), TEXT),
    "width": NUMBER,
    "batch_norm": or_none(FLAG),
}


@dataclass(frozen=True)
class Distillation:
    """A distillation that is over.

    Attributes
    ----------
    student : all student blocks as one network, in host memory, on rank 0 of the communicator;
        None elsewhere.
    architecture : that a search has found, on rank 0; else None.
    plan : the schedule that was run, and what was predicted of it.
    details : losses and accuracies by epoch, seconds, idle shares.
    """

    student: nn.Sequential | None = field(repr=False)
    architecture: Architecture | None
    plan: Plan
    details: Distilled = field(repr=False)


def train(
    comm: MPI.Comm,
    blocks: Blocks,
    data: Data,
    schedule: str = "ahd",
    options: TrainingOptions | None = None,
    *,
    profile: Profile | Path | None = None,
    profile_steps: int = 20,
    queue: int = 2,
    out: Path | None = None,
    checkpoint: CheckpointOptions | None = None,
    dtype: str = "float32",
    seed: int = 0,
    device: str = "auto",
    transport: str = "auto",
    on_epoch: Callable[[EpochReport], None] = lambda epoch: None,
    progress: Advance = lambda rounds, note: None,
) -> Distillation:
    """Distill teachers into students, block by block, relayed across the ranks. Collective.

    Parameters
    ----------
    comm : any intracommunicator; only its ranks take part.
    blocks : list of `BlockPair`, with the same weights on every rank; or 'MODULE:FUNCTION' that
        returns one; or a built-in workload, by name or as a `Recipe`.
    data : images file; or (images, labels), or those by the names 'train' and 'test', the same
        whole arrays on every rank: see `ImageArrays`.
    schedule : 'ahd' (searched), 'tr+dpu', 'tr', 'ir', 'dp', 'ls', or a text: '0-2@0-2 3-5@3'.
    options : batch, epochs, lr, validation share ...; a batch of 256 and one epoch without.
    profile : of these blocks at this batch, or its file; measured where a schedule needs one.
    profile_steps : of each measurement then.
    queue : input buffers of a rank, at least 1.
    out : student file to write; not for a list of blocks, which no file could build again.
    checkpoint : where to keep checkpoints, and to go on from; not for 'dp' and 'ls'.
    dtype : 'float32' or 'float64'; the blocks are converted.
    seed : of every random draw.
    device : 'cpu', 'cuda' or 'auto'.
    transport : 'auto', 'host', 'staged' or 'cuda-aware'.
    on_epoch : told of every epoch on every rank.
    progress : told of this rank's rounds.

    Returns
    -------
    The student, and how it went.

    Raises
    ------
    AgreedError : on all ranks: blocks, data, options or a schedule that cannot be used, or that
        differ from rank to rank.
    InputError : without checkpoints, on one rank alone, for a loss that is not finite: let it
        end the job (``python -m mpi4py script.py``).
    Stopped : on all ranks, where checkpoints are kept and a stop was asked for.
    """
    options = TrainingOptions(256) if options is None else options
    with borrowed(comm) as mine:
        with together(mine):
            check_arguments(
                ARGUMENTS, schedule=schedule, options=options, profile=profile,
                profile_steps=profile_steps, queue=queue, out=out, checkpoint=checkpoint,
                dtype=dtype, seed=seed, device=device, transport=transport, on_epoch=on_epoch,
                progress=progress,
            )  # fmt: skip
            options.check()
            if checkpoint is not None:
                checkpoint.check()
        same_on_all(
            mine, options=options, schedule=schedule, seed=seed, dtype=dtype, queue=queue,
            profile=_given(profile), profile_steps=profile_steps, out=_given(out),
            checkpoint=_given(checkpoint),
        )  # fmt: skip
        with opened(mine, data, device, transport) as here:
            with together(mine):
                _check(queue=queue, profile_steps=profile_steps)
                prepared = _prepared(here, blocks, options, dtype, seed)
                measured = _profile(profile, prepared, options)
                _check_kept(schedule, checkpoint, out, prepared, here.first)
            _check_same(mine, prepared)
            plan = plan_run(
                mine, schedule, prepared.program.n_blocks, options.batch, measured,
                lambda: measure_prepared(here, prepared, profile_steps, Record()),
            )  # fmt: skip
            keeping = None
            if checkpoint is not None:  # only the first rank need know what the run is
                keeping = Keeping(checkpoint, identity(prepared, options) if here.first else {})
            job = Job(
                mine, plan.choice, prepared.program, here.transport, prepared.program.epochs,
                plan.packing, queue, advance=progress, keeping=keeping,
            )  # fmt: skip
            found = distill(job, prepared.network.head, not prepared.network.searching, on_epoch)
            return _distillation(prepared, plan, found, out)


def profile(
    comm: MPI.Comm,
    blocks: Blocks,
    data: Data,
    *,
    batch: int = 256,
    steps: int = 100,
    dtype: str = "float32",
    seed: int = 0,
    device: str = "auto",
    transport: str = "auto",
) -> Profile:
    """Measure blocks, all-reduces and relays on the ranks of `comm`. Collective.

    Parameters
    ----------
    comm, blocks, data, dtype, seed, device, transport : as `train`'s.
    batch : samples of a training step, at least 1.
    steps : of each measurement, at least 1.

    Returns
    -------
    The profile, the same on all ranks; `profile_file.write_profile` writes it.

    Raises
    ------
    AgreedError : as `train`.
    """
    options = TrainingOptions(batch)
    with borrowed(comm) as mine:
        with together(mine):
            check_arguments(
                ARGUMENTS, batch=batch, steps=steps, dtype=dtype, seed=seed, device=device,
                transport=transport,
            )  # fmt: skip
            options.check()
        same_on_all(mine, batch=batch, steps=steps, dtype=dtype, seed=seed)
        with opened(mine, data, device, transport) as here:
            with together(mine):
                _check(steps=steps)
                prepared = _prepared(here, blocks, options, dtype, seed)
            _check_same(mine, prepared)
            return measure_prepared(here, prepared, steps, Record())


def finetune(
    comm: MPI.Comm,
    model: nn.Module,
    data: Data,
    settings: SgdSettings,
    *,
    batch: int = 256,
    epochs: int = 5,
    validation: float = 0.0,
    smoothing: float = 0.0,
    seed: int = 0,
    checkpoint: CheckpointOptions | None = None,
    device: str = "auto",
    transport: str = "auto",
    on_epoch: Callable[[SupervisedEpoch], None] = lambda epoch: None,
    progress: Advance = lambda steps, note: None,
) -> list[SupervisedEpoch]:
    """Train any network on labels, data-parallel: a teacher, or a student. Collective.

    Parameters
    ----------
    comm, data, device, transport : as `train`'s.
    model : with the same weights on every rank; trained in place, the same on all ranks.
    settings : rate, momentum ... of SGD.
    batch : samples of a step over all ranks, at least one a rank.
    epochs : at least 1.
    validation : share of the training samples held out, 0 for the test samples.
    smoothing : of the labels, in [0, 1].
    seed : of every random draw.
    checkpoint : where to keep checkpoints, and to go on from.
    on_epoch, progress : told on every rank of epochs and steps.

    Returns
    -------
    Of each epoch the loss, and the accuracy in [0, 1] where there is something to validate on.

    Raises
    ------
    AgreedError : on all ranks, as `train`; a loss that is not finite.
    Stopped : as `train`.
    """
    with borrowed(comm) as mine:
        with together(mine):
            check_arguments(
                ARGUMENTS, model=model, settings=settings, batch=batch, epochs=epochs,
                validation=validation, smoothing=smoothing, seed=seed, checkpoint=checkpoint,
                device=device, transport=transport, on_epoch=on_epoch, progress=progress,
            )  # fmt: skip
            settings.check()
            if checkpoint is not None:
                checkpoint.check()
            if not 0 <= smoothing <= 1:
                raise InputError(f"smoothing {smoothing}: expected a number from 0 to 1")
        same_on_all(
            mine, batch=batch, epochs=epochs, settings=settings, validation=validation,
            smoothing=smoothing, seed=seed, checkpoint=_given(checkpoint),
            weights=digest_of([model]),
        )  # fmt: skip
        with opened(mine, data, device, transport) as here:
            with together(mine):
                _check(epochs=epochs)
                check_parameters(model, "the model")
                images = _split(here.file, model, batch, seed, mine.size, validation)
            same_on_all(mine, images=images.digest())
            keeping = None
            if checkpoint is not None:
                keeping = Keeping(checkpoint, {
                    "command": "finetune", "weights at the start": digest_of([model]),
                    "images": images.digest(), "batch": batch, "epochs": epochs, "seed": seed,
                    "smoothing": smoothing, **asdict(settings),
                })  # fmt: skip
            return train_on_labels(
                mine, here.transport, model, images, epochs, settings, here.device,
                smoothing=smoothing, keeping=keeping, tell=on_epoch, advance=progress,
            )  # fmt: skip


def evaluate(
    comm: MPI.Comm,
    model: nn.Module,
    data: Data,
    *,
    batch: int = 256,
    device: str = "auto",
    transport: str = "auto",
) -> float:
    """Return the accuracy of a network; the ranks share the samples. Collective.

    Parameters
    ----------
    comm, data, device, transport : as `train`'s; those to train on are used where there are no
        others.
    model : with the same weights on every rank; left in evaluation mode.
    batch : samples at a time over all ranks, at least one a rank.

    Returns
    -------
    The share that is named rightly, in [0, 1]; the same on all ranks.

    Raises
    ------
    AgreedError : as `train`.
    """
    with borrowed(comm) as mine:
        with together(mine):
            check_arguments(
                ARGUMENTS, model=model, batch=batch, device=device, transport=transport
            )  # fmt: skip
        same_on_all(mine, batch=batch, weights=digest_of([model]))
        with opened(mine, data, device, transport) as here:
            with together(mine):
                images = _split(here.file, model, batch, 0, mine.size, all_of_them=True)
            same_on_all(mine, images=images.digest())
            reducer = reducer_of(mine, here.transport)
            return shared_accuracy(reducer, model.to(here.device), images, here.device)


def _split(
    file: ImagesFile,
    model: nn.Module,
    batch: int,
    seed: int,
    ranks: int,
    validation: float = 0.0,
    all_of_them: bool = False,
) -> Images:
    if batch < ranks:
        raise InputError(f"batch {batch}: smaller than the number of ranks, {ranks}")
    dtype = next((p.dtype for p in model.parameters()), torch.float32)
    if all_of_them:
        split = "test" if "test" in file.sizes else "train"
        return Images(file, batch, seed, dtype, validation=(split, None))
    return split_images(file, batch, seed, dtype, validation=validation)


def _prepared(
    here: Session, blocks: Blocks, options: TrainingOptions, dtype: str, seed: int
) -> Prepared:
    if dtype not in DTYPES:
        raise InputError(f"dtype {dtype!r}: expected {' or '.join(DTYPES)}")
    n_classes, network = len(here.file.traits.classes), None
    if isinstance(blocks, Recipe):
        check_arguments(RECIPE, **vars(blocks))
        recipe = blocks
    elif isinstance(blocks, str):
        recipe = Recipe(blocks=blocks) if ":" in blocks else Recipe(workload=blocks)
    else:
        recipe, network = Recipe(blocks=OWN), _of_list(blocks, DTYPES[dtype])
    recipe = replace(recipe, n_classes=n_classes, seed=seed, dtype=DTYPES[dtype])
    return prepare(recipe, options, here.file, here.device, network)


def _of_list(given: Iterable[BlockPair], dtype: torch.dtype) -> Network:
    pairs = list(given) if isinstance(given, Iterable) and not hasattr(given, "shape") else []
    if not pairs or not all(isinstance(pair, BlockPair) for pair in pairs):
        raise InputError(f"blocks: {shown(given)}, expected a list of at least one BlockPair")
    return user_network(pairs, dtype)


def _check(**numbers: int) -> None:
    for name, value in numbers.items():
        if value < 1:
            raise InputError(f"{name} {value}: expected at least 1")


def _check_same(comm: MPI.Comm, prepared: Prepared) -> None:
    """Raise AgreedError unless all ranks have the same blocks, weights and images. Collective."""
    check_same_blocks(comm, [boundary.shape for boundary in prepared.program.boundaries])
    pairs = prepared.network.pairs
    weights = [digest_of([pair.teacher, pair.student]) for pair in pairs]
    same_on_all(
        comm,
        images=prepared.program.images.digest(),
        **{f"weights of block {k}": one for k, one in enumerate(weights)},
    )


def _profile(
    given: Profile | Path | None, prepared: Prepared, options: TrainingOptions
) -> Profile | None:
    if given is None:
        return None
    found = given if isinstance(given, Profile) else read_profile(given)
    where = "profile" if isinstance(given, Profile) else str(given)
    check_fits(
        found, where, workload=prepared.recipe.label, batch=options.batch,
        n_blocks=prepared.program.n_blocks,
    )  # fmt: skip
    return found


def _check_kept(
    schedule: str,
    checkpoint: CheckpointOptions | None,
    out: Path | None,
    prepared: Prepared,
    first: bool,
) -> None:
    if checkpoint is not None and schedule in BASELINES:
        raise InputError(f"checkpoint: the baseline {schedule} keeps none")
    if out is None:
        return
    if prepared.recipe.blocks == OWN:
        raise InputError(
            "out: blocks given as a list cannot be built again from a file; name them "
            "'MODULE:FUNCTION', or save the student's state dict yourself"
        )
    if first:
        check_writable(out)


def _distillation(
    prepared: Prepared, plan: Plan, found: Distilled, out: Path | None
) -> Distillation:
    if found.students is None:
        return Distillation(None, None, plan, found)
    whole = assembled(prepared, found.students)
    if out is not None:
        write_student(out, whole.recipe, whole.student)
    return Distillation(whole.student, whole.architecture, plan, found)


def _given(value: object) -> str | None:
    return None if value is None else type(value).__name__
