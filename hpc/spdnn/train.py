"""Training: SpFF and SpBP over minibatches, with validation."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.replicas import replica_groups
from hpc.comm.world import AgreedError, together
from hpc.io.errors import InputError
from hpc.io.samples import open_samples
from hpc.io.shard import Shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.counters import Counted
from hpc.spdnn.inputs import OwnInputs, check_classes, check_inputs
from hpc.spdnn.kernels import Kernel
from hpc.spdnn.kernels import kernel as default_kernel
from hpc.spdnn.losses import LOSSES
from hpc.spdnn.optimizers import optimizer
from hpc.spdnn.placing import check_place
from hpc.spdnn.runtime import Runtime
from hpc.spdnn.split import batches, split_samples
from hpc.spdnn.trainer import GRADIENTS, Trainer

Floats = npt.NDArray[np.floating]
Longs = npt.NDArray[np.int64]
Path = str | os.PathLike[str]
Data = tuple[OwnInputs, npt.NDArray[np.int32]]


@dataclass(frozen=True)
class TrainOptions:
    """What training is asked for.

    epochs : passes over the training samples. batch : samples a step. lr : learning rate.
    loss : 'mse' or 'cross-entropy'. optimizer : 'sgd', 'momentum' or 'adam'.
    gradient : 'exact', the mean over the batch of δ xᵀ on the pattern, or 'averaged', the
        paper's: one averaged vector is propagated back.
    validation : share of the samples held out, 0 <= validation < 1.
    seed : of the split and the order of the samples.
    """

    epochs: int = 10
    batch: int = 64
    lr: float = 0.01
    loss: str = "cross-entropy"
    optimizer: str = "sgd"
    gradient: str = "exact"
    validation: float = 0.0
    seed: int = 0

    def check(self) -> None:
        """Raise InputError for a value out of range."""
        if self.epochs < 1:
            raise InputError(f"epochs {self.epochs}: expected at least 1")
        if self.batch < 1:
            raise InputError(f"batch {self.batch}: expected at least 1")
        if not 0 <= self.validation < 1:
            raise InputError(f"validation {self.validation}: expected at least 0 and below 1")
        for name, valid in (("loss", LOSSES), ("gradient", GRADIENTS)):
            if getattr(self, name) not in valid:
                value = getattr(self, name)
                raise InputError(f"{name} '{value}': expected one of {', '.join(valid)}")
        optimizer(self.optimizer, self.lr)


@dataclass(frozen=True)
class Epoch:
    """One epoch: mean loss and accuracy (0..1) over its training steps, and on held-out samples.

    `validation_loss` and `validation_accuracy` are None where nothing is held out; `seconds`
    is the slowest rank's wall time of the training steps.
    """

    epoch: int
    loss: float
    accuracy: float
    validation_loss: float | None
    validation_accuracy: float | None
    seconds: float


@dataclass
class Training:
    """What training gives.

    history : epoch by epoch. values, biases : per layer, this rank's trained numbers
        (for `save_network`). test_accuracy : on the test file, if one was given.
    forward, backward : what ran over MPI, evaluation included, summed over all replicas.
    forwarded, passes : samples that went forward, and in how many passes of a replica.
    """

    history: list[Epoch]
    values: list[Floats]
    biases: list[Floats]
    steps: int
    test_accuracy: float | None
    clock: Stopwatch = field(repr=False)
    forward: Counted
    backward: Counted
    forwarded: int
    passes: int


def train(
    comm: MPI.Comm,
    shard: Shard,
    x: Path,
    options: TrainOptions,
    *,
    test: Path | None = None,
    kernel: Kernel | None = None,
    replicas: int = 1,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
    progress: Callable[[int, str], None] = lambda steps, note: None,
) -> Training:
    """Train the network that `shard` is a share of on the labelled samples of `x`. Collective.

    test : another labelled file, evaluated at the end.
    replicas : how many groups of consecutive ranks share each minibatch; each has the whole
        network, so `shard` is this rank's share for comm.size / replicas ranks, loaded over
        the group of `replica_groups(comm, replicas)`. The step is the same to rounding.

    Raises
    ------
    AgreedError : on all ranks, for options out of range, inputs that do not fit, labels out
        of range, a loss that is not finite (with epoch and step), ranks that cannot be
        split into `replicas` groups.
    """
    with replica_groups(comm, replicas) as ranks:
        with together(comm):
            options.check()
            check_place(shard, ranks)
            data = _load(shard, x)
            held_out = _load(shard, test) if test is not None else None
            split = split_samples(data[0].n_samples, options.validation, options.seed)
        runtime = Runtime(ranks.group, kernel or default_kernel(), Stopwatch())
        trainer = Trainer(runtime, shard, options.loss, options.gradient, ranks)
        session = _Session(comm, trainer, options, progress)
        history = []
        for number in range(options.epochs):
            history.append(session.epoch(number, data, *split))
            on_epoch(history[-1])
        accuracy = None
        if held_out is not None:
            accuracy = session.evaluate(held_out, np.arange(held_out[0].n_samples))[1]
        return _result(trainer, session, history, accuracy)


def _load(shard: Shard, path: Path) -> Data:
    with open_samples(path) as samples:
        check_inputs(samples, shard)
        check_classes(samples, shard)
        return OwnInputs(samples, shard.ids[0]), samples.labels()


class _Session:
    """Epochs of steps, timed."""

    def __init__(
        self,
        world: MPI.Comm,
        trainer: Trainer,
        options: TrainOptions,
        progress: Callable[[int, str], None],
    ) -> None:
        self._world, self._trainer, self._options = world, trainer, options
        self._rule = optimizer(options.optimizer, options.lr)
        self._progress = progress
        self.steps = 0

    def epoch(self, number: int, data: Data, training: Longs, validation: Longs) -> Epoch:
        """Train on `training`, each sample once, and evaluate on `validation`."""
        options, clock = self._options, self._trainer.clock
        clock.restart()
        before = clock.total()
        loss, right = 0.0, 0
        for chosen in batches(training, options.batch, options.seed, number):
            with np.errstate(over="ignore", invalid="ignore"):  # the loss is checked instead
                step_loss, step_right = self._trainer.step(*data, chosen, self._rule)
            self._check(step_loss, number)
            loss, right = loss + step_loss, right + step_right
            self.steps += 1
            self._progress(1, f"loss {step_loss / len(chosen):.4f}")
        seconds = self._world.allreduce(clock.total() - before, op=MPI.MAX)
        held_out = self.evaluate(data, validation) if len(validation) else (None, None)
        n = len(training)
        return Epoch(number + 1, loss / n, right / n, held_out[0], held_out[1], seconds)

    def evaluate(self, data: Data, chosen: Longs) -> tuple[float, float]:
        """Return the mean loss and the accuracy over samples `chosen`."""
        loss, right = 0.0, 0
        for start in range(0, len(chosen), self._options.batch):
            part = chosen[start : start + self._options.batch]
            part_loss, part_right = self._trainer.evaluate(*data, part)
            loss, right = loss + part_loss, right + part_right
        return loss / len(chosen), right / len(chosen)

    def _check(self, loss: float, number: int) -> None:
        if not np.isfinite(loss):
            raise AgreedError(
                f"the loss is {loss} in epoch {number + 1}, step {self.steps + 1}: "
                f"lower --lr (now {self._options.lr})"
            )


def _result(
    trainer: Trainer, session: _Session, history: list[Epoch], accuracy: float | None
) -> Training:
    forward, backward = trainer.counted()
    forwarded, passes = trainer.counted_passes()
    trainer.free()
    return Training(
        history,
        [parameters.values for parameters in trainer.parameters],
        [parameters.bias for parameters in trainer.parameters],
        session.steps,
        accuracy,
        trainer.clock,
        forward,
        backward,
        forwarded,
        passes,
    )
