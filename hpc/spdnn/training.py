"""Training: SpFF and SpBP over minibatches, with validation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from mpi4py import MPI

from hpc.comm.replicas import replica_groups
from hpc.comm.standing import Standing
from hpc.comm.world import AgreedError, together
from hpc.io.arguments import NUMBER, SEED, TEXT, WHOLE, check_arguments
from hpc.io.checkpoint_options import CheckpointOptions
from hpc.io.errors import InputError
from hpc.io.sample_arrays import Data, samples_of
from hpc.io.shard import Shard
from hpc.report.gauges import Gauges
from hpc.report.meter import DONE_BEFORE
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.checkpoint_run import Keeper, checkpoints, describe
from hpc.spdnn.counters import Counted
from hpc.spdnn.inputs import OwnInputs, check_classes, check_inputs
from hpc.spdnn.kernels import Kernel
from hpc.spdnn.kernels import kernel as default_kernel
from hpc.spdnn.optimizers import Optimizer, optimizer
from hpc.spdnn.option_values import GRADIENTS, LOSSES
from hpc.spdnn.placing import check_place
from hpc.spdnn.position import Epoch, Position
from hpc.spdnn.runtime import Runtime
from hpc.spdnn.split import batches, split_samples
from hpc.spdnn.trainer import Trainer

Floats = npt.NDArray[np.floating]
Longs = npt.NDArray[np.int64]
Kept = tuple[OwnInputs, npt.NDArray[np.int32]]


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
        """Raise InputError for a value of another type or out of range."""
        check_arguments(OPTIONS, **vars(self))
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


OPTIONS = {
    **dict.fromkeys(("epochs", "batch"), WHOLE),
    **dict.fromkeys(("lr", "validation"), NUMBER),
    **dict.fromkeys(("loss", "optimizer", "gradient"), TEXT),
    "seed": SEED,
}


@dataclass
class Training:
    """What training gives.

    history, steps : of the whole run, also before the checkpoint that it went on from.
    values, biases : per layer, this rank's trained numbers (for `save_network`).
    test_accuracy : on the test file, if one was given.
    forward, backward : what ran over MPI, evaluation included, summed over all replicas.
    forwarded, passes : samples that went forward, and in how many passes of a replica.
    checkpoints : written by this run; on the first rank. copy_s : this rank's time for copies.
    steps_before : those of `steps` that were done before the checkpoint; `clock` began after them.
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
    checkpoints: int
    copy_s: float
    steps_before: int


def train(
    comm: MPI.Comm,
    shard: Shard,
    x: Data,
    options: TrainOptions,
    *,
    test: Data | None = None,
    kernel: Kernel | None = None,
    replicas: int = 1,
    checkpoint: CheckpointOptions | None = None,
    on_epoch: Callable[[Epoch], None] = lambda epoch: None,
    progress: Callable[[int, str], None] = lambda steps, note: None,
    standing: Standing | None = None,
    gauges: Gauges | None = None,
) -> Training:
    """Train the network that `shard` is a share of on the labelled samples of `x`. Collective.

    Parameters
    ----------
    comm : communicator of replicas · shard.size ranks.
    shard : this rank's share, see `load_shard`; its weights are copied.
    x : labelled samples file, or (x, labels): see `sample_arrays`.
    options : of the training.
    test : more labelled samples, evaluated at the end.
    kernel : multiplies; the best there is without.
    replicas : how many groups of consecutive ranks share each minibatch; each has the whole
        network, so `shard` is this rank's share for comm.size / replicas ranks, loaded over the
        group of `replica_groups(comm, replicas)`. The step is the same to rounding.
    checkpoint : where to keep checkpoints, and to go on from the newest one there is: with as many
        ranks to the same bits as without a stop, with others to rounding.
    on_epoch : told of each epoch.
    progress : told of steps.
    standing : told where this rank is, for a watchdog.
    gauges : set, for who watches the run.

    Returns
    -------
    History, and this rank's trained weights.

    Raises
    ------
    AgreedError : on all ranks, for options out of range, inputs that do not fit, labels out
        of range, a loss that is not finite (with epoch and step), ranks that cannot be
        split into `replicas` groups; checkpoints of another run.
    Stopped : on all ranks, when a run with checkpoints was asked to stop, see `stop_requests`.
    """
    with replica_groups(comm, replicas) as ranks:
        with together(comm):
            options.check()
            check_place(shard, ranks)
            data = _load(shard, x, "data")
            held_out = _load(shard, test, "test") if test is not None else None
            split = split_samples(data[0].n_samples, options.validation, options.seed)
        standing = standing or Standing()
        standing.base = ranks.number * ranks.group.size
        runtime = Runtime(ranks.group, kernel or default_kernel(), Stopwatch(), standing)
        trainer = Trainer(runtime, shard, options.loss, options.gradient, ranks)
        rule = optimizer(options.optimizer, options.lr)
        run = describe(shard, options, data[0].n_samples, data[1])
        with checkpoints(
            ranks, checkpoint, run, shard, trainer.parameters, rule, options.epochs
        ) as (keeper, position):
            session = _Session(comm, trainer, options, rule, keeper, position, progress)
            if gauges is not None:
                gauges.waited_s, gauges.loss = trainer.clock.waited_s, session.loss
            progress(position.step, DONE_BEFORE)
            standing.count(position.step)
            while position.epoch < options.epochs:
                session.epoch(data, *split)
                on_epoch(position.history[-1])
        accuracy = None
        if held_out is not None:
            accuracy = session.evaluate(held_out, np.arange(held_out[0].n_samples))[1]
        return _result(trainer, session, keeper, accuracy)


def _load(shard: Shard, data: Data, name: str) -> Kept:
    with samples_of(data, name) as samples:
        check_inputs(samples, shard)
        check_classes(samples, shard)
        return OwnInputs(samples, shard.ids[0]), samples.labels()


class _Session:
    """Epochs of steps, timed. position : how far it is."""

    def __init__(
        self,
        world: MPI.Comm,
        trainer: Trainer,
        options: TrainOptions,
        rule: Optimizer,
        keeper: Keeper,
        position: Position,
        progress: Callable[[int, str], None],
    ) -> None:
        self._world, self._trainer, self._options = world, trainer, options
        self._rule, self._keeper, self._progress = rule, keeper, progress
        self.position, self.steps_before = position, position.step
        self._loss: float | None = None

    def loss(self) -> float | None:
        """Return the mean loss of the last step, None before the first."""
        return self._loss

    def epoch(self, data: Kept, training: Longs, validation: Longs) -> None:
        """Train on what is left of `training` in this epoch, and evaluate on `validation`."""
        options, clock, at = self._options, self._trainer.clock, self.position
        clock.restart()
        before = clock.total() - at.seconds
        for chosen in batches(training, options.batch, options.seed, at.epoch)[at.batch :]:
            with np.errstate(over="ignore", invalid="ignore"):  # the loss is checked instead
                step_loss, step_right = self._trainer.step(*data, chosen, self._rule)
            self._check(step_loss)
            at.add(step_loss, step_right)
            at.seconds = clock.total() - before
            self._loss = step_loss / len(chosen)
            self._progress(1, "")
            self._trainer.standing.count(1)
            self._keeper.step_done(at.step)
        seconds = self._world.allreduce(clock.total() - before, op=MPI.MAX)
        held_out = self.evaluate(data, validation) if len(validation) else (None, None)
        loss, accuracy = at.loss / len(training), at.right / len(training)
        at.end_epoch(Epoch(at.epoch + 1, loss, accuracy, held_out[0], held_out[1], seconds))

    def evaluate(self, data: Kept, chosen: Longs) -> tuple[float, float]:
        """Return the mean loss and the accuracy over samples `chosen`."""
        loss, right = 0.0, 0
        with self._trainer.clock.all_as("validate"):
            for start in range(0, len(chosen), self._options.batch):
                part = chosen[start : start + self._options.batch]
                part_loss, part_right = self._trainer.evaluate(*data, part)
                loss, right = loss + part_loss, right + part_right
        return loss / len(chosen), right / len(chosen)

    def _check(self, loss: float) -> None:
        if not np.isfinite(loss):
            at = self.position
            raise AgreedError(
                f"the loss is {loss} in epoch {at.epoch + 1}, step {at.step + 1}: "
                f"lower --lr (now {self._options.lr})"
            )


def _result(
    trainer: Trainer, session: _Session, keeper: Keeper, accuracy: float | None
) -> Training:
    position = session.position
    forward, backward = trainer.counted()
    forwarded, passes = trainer.counted_passes()
    trainer.free()
    return Training(
        position.history,
        [parameters.values for parameters in trainer.parameters],
        [parameters.bias for parameters in trainer.parameters],
        position.step,
        accuracy,
        trainer.clock,
        forward,
        backward,
        forwarded,
        passes,
        keeper.written,
        keeper.copy_s,
        session.steps_before,
    )
