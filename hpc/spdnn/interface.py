"""The sparse engine for a user's own mpi4py script: what the commands do, with their communicator.

Every function is collective over the communicator that it is given, uses a duplicate of that
one and no other, and raises `AgreedError`, a ValueError, on all ranks for input that is wrong
on any: values, and arguments of other types. Only what is no communicator, and the launcher of
another MPI than mpi4py's, raise a plain `InputError` on each process, which knows of no other.
Nothing is printed, and no signal handler is set.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.borrowed import borrowed
from hpc.comm.sameness import same_on_all
from hpc.comm.world import together
from hpc.io.arguments import FLAG, FUNCTION, PATH, TEXT, WHOLE, check_arguments, instance, or_none
from hpc.io.aside import check_writable
from hpc.io.checkpoint_options import CheckpointOptions
from hpc.io.errors import InputError
from hpc.io.layer_list import Given
from hpc.io.machine import Machine
from hpc.io.network import Layer
from hpc.io.plan import Plan
from hpc.io.sample_arrays import Data
from hpc.io.shard import Shard
from hpc.spdnn import inference, machine, training
from hpc.spdnn.inference import Inference
from hpc.spdnn.kernel_choice import choose_kernel
from hpc.spdnn.load import load_shard
from hpc.spdnn.position import Epoch
from hpc.spdnn.save import gather_trained, save_trained
from hpc.spdnn.training import Training, TrainOptions

Path = str | os.PathLike[str]
Floats = npt.NDArray[np.floating]
Progress = Callable[[int, str], None]
ARGUMENTS = {
    "plan": or_none(instance(str, os.PathLike, Plan, said="a path, a Plan")),
    "dtype": or_none(instance(str, said="'float32', 'float64'")),
    **dict.fromkeys(("batch", "threads", "replicas"), WHOLE),
    **dict.fromkeys(("scores", "merge", "gather"), FLAG),
    **dict.fromkeys(("kernel", "device"), TEXT),
    "waves": or_none(WHOLE),
    "out": or_none(PATH),
    "options": instance(TrainOptions, said="TrainOptions"),
    "checkpoint": or_none(instance(CheckpointOptions, said="CheckpointOptions")),
    **dict.fromkeys(("progress", "on_epoch"), FUNCTION),
}
"""What arguments of the functions may be; network and samples are looked at as they are read."""


@dataclass(frozen=True)
class Answer:
    """What a network says of its inputs.

    Attributes
    ----------
    categories : (m,) int64, on every rank: 1-based numbers of the samples whose last level has
        an entry that is not zero, ascending.
    scores : (n, n_L) of the network's dtype, the last level of every sample; on rank 0 of the
        communicator, where it was asked for; else None.
    seconds : wall time of the slowest rank, without loading.
    details : what ran, per layer and over MPI.
    """

    categories: npt.NDArray[np.int64]
    scores: Floats | None
    seconds: float
    details: Inference = field(repr=False)


@dataclass(frozen=True)
class Trained:
    """A training that is over.

    Attributes
    ----------
    history : of each epoch its mean loss and accuracy (in [0, 1]), held-out ones and seconds.
    test_accuracy : in [0, 1]; None without `test`.
    layers : the trained network, on rank 0 of the communicator, where it was asked for; else
        None. It can be given to `infer` again, once it is on all ranks.
    details : this rank's weights, and what ran over MPI.
    """

    history: list[Epoch]
    test_accuracy: float | None
    layers: list[Layer] | None = field(repr=False)
    details: Training = field(repr=False)


def infer(
    comm: MPI.Comm,
    network: Path | Sequence[Given],
    x: Data,
    plan: Path | Plan | None = None,
    *,
    scores: bool = False,
    batch: int = 256,
    dtype: str | None = None,
    kernel: str = "auto",
    device: str = "cpu",
    threads: int = 1,
    merge: bool = True,
    replicas: int = 1,
    waves: int | None = None,
    progress: Progress = lambda samples, note: None,
) -> Answer:
    """Run inputs through a network that is cut across the ranks of `comm`. Collective.

    Parameters
    ----------
    comm : any intracommunicator; only its ranks take part.
    network : network file or sharded file; or the whole network, the same on every rank: a list
        of (weight, bias, activation) with scipy CSR weights (n_out, n_in), see `layer_list`.
    x : samples file; or (n, n_0) float32, float64, uint8 or bool, a sample a row, the same whole
        array on every rank (each takes its own columns of it, batch by batch).
    plan : plan file or `Plan` for comm.size / replicas ranks; contiguous blocks of rows without.
    scores : return the last level too.
    batch : samples at a time, at least 1.
    dtype : 'float32' or 'float64' to compute in; the network's without.
    kernel : 'auto', 'numba', 'scipy' or 'torch'.
    device : 'cpu', 'cuda' or 'auto'.
    threads : of each rank, at least 1 (numba).
    merge : compute columns that are equal on every rank once; changes no bit of the answer.
    replicas : groups of consecutive ranks that each hold the whole network.
    waves : into how many waves a batch is divided; chosen where None.
    progress : told on every rank of samples that are done.

    Returns
    -------
    The answer.

    Raises
    ------
    AgreedError : on all ranks: files, arrays, options or a plan that cannot be used, or that
        differ from rank to rank.
    """
    with borrowed(comm) as mine:
        with together(mine):
            check_arguments(
                ARGUMENTS, plan=plan, scores=scores, batch=batch, dtype=dtype, kernel=kernel,
                device=device, threads=threads, merge=merge, replicas=replicas, waves=waves,
                progress=progress,
            )  # fmt: skip
        same_on_all(
            mine, network=_kind(network), x=_kind(x), plan=_kind(plan), scores=bool(scores),
            batch=batch, dtype=dtype, kernel=kernel, device=device, merge=bool(merge),
            replicas=replicas, waves=waves,
        )  # fmt: skip
        local = choose_kernel(mine, kernel, device, threads)
        shard = load_shard(mine, network, plan, dtype, replicas).shard
        blocks: list[Floats] = []
        found = inference.infer(
            mine,
            shard,
            x,
            batch=batch,
            scores=(lambda start, values: blocks.append(values.copy())) if scores else None,
            kernel=local,
            merge=merge,
            replicas=replicas,
            waves=waves,
            progress=progress,
        )
    whole = np.concatenate(blocks) if blocks else None
    return Answer(found.categories, whole, found.seconds, found)


def train(
    comm: MPI.Comm,
    network: Path | Sequence[Given],
    data: Data,
    options: TrainOptions | None = None,
    plan: Path | Plan | None = None,
    *,
    test: Data | None = None,
    out: Path | None = None,
    gather: bool = False,
    dtype: str | None = None,
    kernel: str = "auto",
    device: str = "cpu",
    threads: int = 1,
    replicas: int = 1,
    checkpoint: CheckpointOptions | None = None,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
    progress: Progress = lambda steps, note: None,
) -> Trained:
    """Train a network that is cut across the ranks of `comm`. Collective.

    Parameters
    ----------
    comm : any intracommunicator; only its ranks take part.
    network, plan, dtype, kernel, device, threads, replicas : as `infer`'s.
    data : labelled samples file; or (x, labels) with x as `infer`'s and labels (n,) whole numbers
        from 0, the same on every rank.
    options : epochs, batch, lr, loss, optimizer ...; `TrainOptions()` without.
    test : more samples, of the same kinds, to evaluate on at the end.
    out : network file to write.
    gather : bring the whole trained network to rank 0, in its memory.
    checkpoint : where to keep checkpoints, and to go on from the newest one there is.
    on_epoch : told on every rank of each epoch.
    progress : of steps.

    Returns
    -------
    History, and the trained network as asked for.

    Raises
    ------
    AgreedError : on all ranks: as `infer`; labels out of range, a loss that is not finite.
    Stopped : on all ranks, where checkpoints are kept and a stop was asked for, see
        `hpc.comm.interrupt`.
    """
    options = TrainOptions() if options is None else options
    with borrowed(comm) as mine:
        with together(mine):
            check_arguments(
                ARGUMENTS, options=options, plan=plan, out=out, gather=gather, dtype=dtype,
                kernel=kernel, device=device, threads=threads, replicas=replicas,
                checkpoint=checkpoint, on_epoch=on_epoch, progress=progress,
            )  # fmt: skip
            options.check()
            if checkpoint is not None:
                checkpoint.check()
        same_on_all(
            mine, network=_kind(network), data=_kind(data), plan=_kind(plan), options=options,
            test=_kind(test), out=_kind(out), gather=bool(gather), dtype=dtype, kernel=kernel,
            device=device, replicas=replicas, checkpoint=_kind(checkpoint),
        )  # fmt: skip
        with together(mine):
            if out is not None and mine.rank == 0:
                check_writable(out)
        local = choose_kernel(mine, kernel, device, threads)
        shard = load_shard(mine, network, plan, dtype, replicas).shard
        found = training.train(
            mine,
            shard,
            data,
            options,
            test=test,
            kernel=local,
            replicas=replicas,
            checkpoint=checkpoint,
            on_epoch=on_epoch,
            progress=progress,
        )
        layers = _keep(mine, shard, found, replicas, out, gather)
    return Trained(found.history, found.test_accuracy, layers, found)


def _keep(
    comm: MPI.Comm, shard: Shard, found: Training, replicas: int, out: Path | None, gather: bool
) -> list[Layer] | None:
    if out is not None:
        save_trained(comm, out, shard, found.values, found.biases, replicas)
    return gather_trained(comm, shard, found.values, found.biases, replicas) if gather else None


def measure_machine(comm: MPI.Comm, kernel: str = "auto") -> Machine:
    """Measure what a layer and a message cost on these ranks, for `partition`. Collective.

    Parameters
    ----------
    comm : any intracommunicator of 2 ranks or more.
    kernel : as `infer`'s.

    Returns
    -------
    What `hpc.io.machine.write_machine` writes; the same on all ranks.

    Raises
    ------
    AgreedError : on all ranks: fewer than 2 ranks, no such kernel.
    """
    with borrowed(comm) as mine:
        with together(mine):
            check_arguments(ARGUMENTS, kernel=kernel)
        same_on_all(mine, kernel=kernel)
        with together(mine):
            if mine.size < 2:
                raise InputError("machine: needs 2 ranks or more")
        local = choose_kernel(mine, kernel, "cpu")
        costs, steps = machine.measure(mine, local)
        about = {"kernel": local.name, "ranks": str(mine.size), "host": MPI.Get_processor_name()}
        measured: Machine = mine.bcast(Machine(costs, steps, about))
    return measured


def _kind(value: Any) -> str | None:
    """Return what must be the same on all ranks of a value that may be large; paths may differ."""
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        return "a path"
    if isinstance(value, Plan):
        return f"a plan for {value.parts} ranks"
    if isinstance(value, tuple):
        return f"({', '.join(str(_kind(one)) for one in value)})"
    if isinstance(value, list):
        return f"{len(value)} layers"
    shape, dtype = getattr(value, "shape", ""), getattr(value, "dtype", "")
    return f"{type(value).__name__} {shape} {dtype}".strip()
