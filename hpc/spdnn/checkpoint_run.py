"""A training with checkpoints: where it begins, and who keeps what."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.checkpoint_start import find_start, folder_for
from hpc.comm.checkpointing import Checkpoints, NoCheckpoints, kept
from hpc.comm.interrupt import stop_requests
from hpc.comm.replicas import Replicas
from hpc.comm.world import together
from hpc.io.checkpoint_options import CheckpointOptions
from hpc.io.errors import InputError
from hpc.io.shard import Shard
from hpc.spdnn.checkpoint_state import TrainingState
from hpc.spdnn.file_order import file_order
from hpc.spdnn.optimizers import Optimizer
from hpc.spdnn.parameters import LayerParameters
from hpc.spdnn.position import Position, position_of
from hpc.spdnn.save import weight_places

Keeper = Checkpoints | NoCheckpoints
Words = npt.NDArray[np.uint64]


@contextlib.contextmanager
def checkpoints(
    ranks: Replicas,
    options: CheckpointOptions | None,
    run: dict[str, Any],
    shard: Shard,
    parameters: Sequence[LayerParameters],
    rule: Optimizer,
    epochs: int,
) -> Iterator[tuple[Keeper, Position]]:
    """Yield what keeps checkpoints, and the place to begin at; loads what is there. Collective.

    Parameters
    ----------
    ranks : Replicas
        All ranks of the training; the first replica keeps weights, the others hold the same.
    options : CheckpointOptions or None
        Where, how often and how many; None: none are kept.
    run : dict
        What the run is, besides its network: from `describe`.
    shard : Shard
        This rank's share, with the weights at the start.
    parameters : sequence of LayerParameters
        Per layer; overwritten by those of the checkpoint that is gone on from.
    rule : Optimizer
        Its slots and its step are overwritten likewise.
    epochs : int
        Of the run.

    Yields
    ------
    tuple of Checkpoints or NoCheckpoints, and Position
        The position is updated by the caller and read when a checkpoint is made.

    Raises
    ------
    AgreedError : on all ranks: see `find_start`; the checkpoint is further than the run is to go.
    Stopped : on all ranks, when the run was asked to stop.
    """
    if options is None:
        yield NoCheckpoints(), Position()
        return
    with stop_requests() as asked, folder_for(ranks.world, options.root):
        run = {"command": "spdnn train", "network": shard.fingerprint, **run}
        run["weights at the start"] = f"{weights_digest(ranks.group, shard):016x}"
        start = find_start(ranks.world, options, run)
        position, part = Position(), ranks.group.rank if ranks.number == 0 else None
        if start.index is not None:
            position = position_of(start.step, start.index.position, start.index.arrays)
        state = TrainingState(part, file_order(shard), parameters, rule, position)
        with together(ranks.world):
            if start.index is not None:
                _check_epochs(position, epochs)
                state.load(start.index, ranks.group.rank)
        keeper = Checkpoints(ranks.world, options, run, start, state, asked)
        with kept(keeper):
            yield keeper, position


def _check_epochs(position: Position, epochs: int) -> None:
    if position.epoch >= epochs:
        raise InputError(
            f"--epochs {epochs}: the checkpoint is in epoch {position.epoch + 1}; "
            "give more, or --fresh to begin anew"
        )


def describe(
    shard: Shard, options: Any, n_samples: int, labels: npt.NDArray[np.int32]
) -> dict[str, Any]:
    """Return what makes a training another one: all but the number of epochs. Pure.

    Parameters
    ----------
    shard : Shard
        For the dtype.
    options : TrainOptions
        As asked.
    n_samples : int
        Of the training file, held-out ones among them.
    labels : (n_samples,) int32 array
        A hash of them is taken.

    Returns
    -------
    dict
        Numbers and words by name, the same on all ranks.
    """
    asked = {name: value for name, value in asdict(options).items() if name != "epochs"}
    digest = hashlib.blake2b(np.ascontiguousarray(labels).tobytes(), digest_size=8).hexdigest()
    return {"dtype": shard.dtype.name, "samples": n_samples, "labels": digest, **asked}


def weights_digest(comm: MPI.Comm, shard: Shard) -> int:
    """Return a number of all weights and biases, however they are cut. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the ranks that hold the network once.
    shard : Shard
        This rank's share.

    Returns
    -------
    int
        Sum modulo 2⁶⁴ over weights and biases of a hash of place and value; on all ranks.
    """
    total = np.zeros(1, np.uint64)
    for k, layer in enumerate(shard.layers):
        row_of, columns = weight_places(layer, shard.ids[k])
        own = shard.ids[k + 1]
        data = np.concatenate([part.data for part in (layer.core, *layer.parts)])
        total += _mixed(k, own[row_of], columns + 1, data)
        total += _mixed(k, own, np.zeros_like(own), layer.bias)
    whole = np.empty_like(total)
    comm.Allreduce(total, whole)
    return int(whole[0])


def _mixed(
    layer: int, rows: npt.NDArray[np.int32], columns: npt.NDArray[np.int32], values: Any
) -> np.uint64:
    """Return the sum, modulo 2⁶⁴, of a hash of each place and value (the mixer of splitmix64)."""
    bits = np.ascontiguousarray(values).view(f"u{values.dtype.itemsize}").astype(np.uint64)
    place = (rows.astype(np.uint64) << np.uint64(32)) + columns.astype(np.uint64)
    mixed = _mix(_mix(place + np.uint64(layer)) ^ bits)
    return np.uint64(mixed.sum(dtype=np.uint64))


def _mix(words: Words) -> Words:
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))
