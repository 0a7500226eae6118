"""Training a whole network on labels, data-parallel: teachers, fine-tuning, retraining.

The network is one block whose target are the labels, so its step is `StudentStep`: group
batch norm, gradients reduced in buckets, the same weights on any number of ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import isfinite, isnan, nan

import torch
from mpi4py import MPI
from torch import nn

from hpc.comm.buffers import Transport
from hpc.comm.world import AgreedError
from hpc.pipebd.blocks import BlockPair
from hpc.pipebd.checkpoint_labels import labels_progress
from hpc.pipebd.checkpoint_run import Keeping
from hpc.pipebd.compress import correct
from hpc.pipebd.losses import label_cross_entropy
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.pipeline import Advance
from hpc.pipebd.reducer import Reducer, Timed
from hpc.pipebd.shares import batch_shares
from hpc.pipebd.step import StudentStep
from hpc.pipebd.training_data import Images, labelled
from hpc.report.gauges import Gauges
from hpc.report.meter import DONE_BEFORE


@dataclass(frozen=True)
class SupervisedEpoch:
    """An epoch of a training on labels, the same on all ranks.

    Attributes
    ----------
    epoch : int
        From 0.
    loss : float
        Mean over the epoch's steps.
    accuracy : float or None
        Afterwards, in [0, 1]; None without images to validate on.
    """

    epoch: int
    loss: float
    accuracy: float | None


def train_on_labels(
    comm: MPI.Comm,
    transport: Transport,
    model: nn.Module,
    images: Images,
    epochs: int,
    settings: SgdSettings,
    device: torch.device,
    *,
    smoothing: float = 0.0,
    keeping: Keeping | None = None,
    tell: Callable[[SupervisedEpoch], None] = lambda epoch: None,
    advance: Advance = lambda steps, note: None,
    gauges: Gauges | None = None,
) -> list[SupervisedEpoch]:
    """Train `model`, equal on all ranks before and after, in place. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        Of the run; its ranks share every batch.
    transport : Transport
        Of this rank.
    model : nn.Module
        (n, ...) images to (n, classes) logits; moved to the device, its batch norms become group
        batch norms.
    images : Images
        `batch` >= ranks.
    epochs : int
        Of the run, at least 1, those before a checkpoint included.
    settings : SgdSettings
        Of the optimizer.
    device : torch.device
        Of this rank.
    smoothing : float
        Of the labels, in [0, 1].
    keeping : Keeping, optional
        Checkpoints, if any.
    tell : callable
        Told of every epoch of this run.
    advance : callable
        Told of steps; first, with a note, of those that were done before.
    gauges : Gauges, optional
        Set, for who watches the run.

    Returns
    -------
    list of SupervisedEpoch
        Of all epochs, those before a checkpoint included; the same on all ranks.

    Raises
    ------
    AgreedError : on all ranks, for a loss that is not finite; names the step. And, with
        Stopped, what `labels_progress` raises.
    """
    reducer = Timed(reducer_of(comm, transport))
    rows = range(*batch_shares(images.batch, comm.size)[comm.rank])
    training = images.training_batches(rows)
    loss_of = partial(label_cross_entropy, smoothing=smoothing)
    pair = BlockPair(nn.Identity(), model.to(device), loss_of, "network")
    step = StudentStep(pair, 0, settings, reducer, images.batch, images.seed)
    last: torch.Tensor | None = None
    if gauges is not None:
        gauges.waited_s = lambda: reducer.seconds
        gauges.loss = lambda: None if last is None else float(last) * images.batch / len(rows)
    with labels_progress(keeping, comm, transport, step) as progress:
        advance(progress.step, DONE_BEFORE)
        for epoch in range(progress.epoch, epochs):
            losses = torch.zeros(training.steps, dtype=torch.float64, device=device)
            first = progress.begin(epoch, losses)
            for number, batch in enumerate(labelled(training, epoch, device, first), first):
                share = (epoch * training.steps + number) / (epochs * training.steps)
                last = step.run(batch.images, batch.labels, epoch, number, share)
                losses[number] = last
                advance(1, "")
                progress.step_done()
            loss, accuracy = _checked(reducer.sum(losses), epoch), nan
            if images.n_validation:
                accuracy = shared_accuracy(reducer, pair.student, images, device)
                pair.student.train()
            progress.history.append((loss, accuracy))
            tell(_epoch(epoch, loss, accuracy))
    return [_epoch(epoch, *found) for epoch, found in enumerate(progress.history)]


def _epoch(epoch: int, loss: float, accuracy: float) -> SupervisedEpoch:
    return SupervisedEpoch(epoch, loss, None if isnan(accuracy) else accuracy)


def _checked(losses: torch.Tensor, epoch: int) -> float:
    bad = (~torch.isfinite(losses)).nonzero()
    mean = float(losses.mean())
    if len(bad) or not isfinite(mean):
        step = int(bad[0] if len(bad) else losses.abs().argmax())  # finite, but not their sum
        raise AgreedError(
            f"the loss is {float(losses[step])} in step {step} of epoch {epoch + 1}: "
            "lower the learning rate (--lr)"
        )
    return mean


def shared_accuracy(
    reducer: Reducer, model: nn.Module, images: Images, device: torch.device
) -> float:
    """Return the accuracy on the images to validate on. Collective over the reducer's group.

    Parameters
    ----------
    reducer : Reducer
        Over the ranks that share each batch.
    model : nn.Module
        On the device, the same on all ranks; left in eval mode.
    images : Images
        With at least one to validate on.
    device : torch.device
        Of this rank.

    Returns
    -------
    float
        In [0, 1], the same on all ranks.
    """
    rows = range(*batch_shares(images.batch, reducer.size)[reducer.rank])
    right = sum(
        correct(model, batch)
        for batch in labelled(images.validation_batches(rows), 0, device)
        if len(batch.labels)
    )
    total = torch.tensor([right], dtype=torch.float64, device=device)
    return float(reducer.sum(total)) / images.n_validation
