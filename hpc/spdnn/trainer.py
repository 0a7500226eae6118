"""One training step of a rank: forward, loss, backward with the update inside.

With replicas each takes its share of the minibatch. The gradient of a layer is summed over
the replicas as soon as it is there, while the layers below are still at work.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hpc.comm.exchange import Exchange
from hpc.comm.planned_sums import PlannedSums
from hpc.comm.replicas import Replicas
from hpc.comm.standing import Standing
from hpc.io.shard import Shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.averaged import AveragedGradient
from hpc.spdnn.backward import Backward
from hpc.spdnn.counters import Counted, count
from hpc.spdnn.inputs import OwnInputs
from hpc.spdnn.losses import loss
from hpc.spdnn.optimizers import Optimizer
from hpc.spdnn.parameters import LayerParameters
from hpc.spdnn.runtime import Runtime
from hpc.spdnn.training_pass import TrainingPass

Floats = npt.NDArray[np.floating]
Longs = npt.NDArray[np.int64]


class Trainer:
    """A rank's trainable share of a network and the passes over it. Made by all ranks together.

    Parameters
    ----------
    runtime : Runtime
        Its communicator has shard.size ranks: those of one replica.
    shard : Shard
        This rank's share; its weights are copied.
    loss_name : str
        See `losses.loss`.
    gradient : str
        'exact', or 'averaged': the paper's, see `AveragedGradient`.
    replicas : Replicas or None
        `runtime.comm` is its group; None where that is all there is. The step is that of the
        whole minibatch, to rounding, and the same bits on all replicas.

    Attributes
    ----------
    parameters : list of LayerParameters
        Per layer; the weights and biases that training changes.
    forwarded, passes : int
        Samples that went forward so far on this replica, and in how many passes.
    """

    def __init__(
        self,
        runtime: Runtime,
        shard: Shard,
        loss_name: str,
        gradient: str,
        replicas: Replicas | None = None,
    ) -> None:
        self._runtime, self._shard, self._gradient = runtime, shard, gradient
        self._replicas = replicas
        self._peers = replicas.peers if replicas is not None and replicas.count > 1 else None
        runtime.kernel.prepare_training(shard.dtype)
        self.parameters = [LayerParameters(layer, shard.dtype) for layer in shard.layers]
        self._loss = loss(
            loss_name, runtime.comm, shard.ids[-1], shard.sizes[-1], runtime.kernel.name == "numba"
        )
        self._passes: dict[int, TrainingPass] = {}
        self.forwarded = self.passes = 0
        self._seen = np.zeros(2)
        self._seen_sum = PlannedSums(self._peers, [self._seen])
        self._averaged = (
            AveragedGradient(self._pass(1), self._peers) if gradient == "averaged" else None
        )
        self._sums = PlannedSums(
            None if self._averaged else self._peers, [p.gradients for p in self.parameters]
        )

    @property
    def clock(self) -> Stopwatch:
        """Where the time of this rank went: compute, wait, pack."""
        return self._runtime.clock

    @property
    def standing(self) -> Standing:
        """Told where this rank is."""
        return self._runtime.standing

    def step(
        self, inputs: OwnInputs, labels: npt.NDArray[np.int32], chosen: Longs, rule: Optimizer
    ) -> tuple[float, int]:
        """Train on some samples. Collective over all replicas.

        Parameters
        ----------
        inputs : OwnInputs
            Of all samples.
        labels : (n,) int32 array
            Likewise.
        chosen : (batch,) int64 array
            The whole minibatch, the same on all ranks; replicas share it.
        rule : Optimizer
            Its step is counted, then each layer is updated once.

        Returns
        -------
        tuple of float and int
            The sum of the samples' losses before the update, and how many were right.
        """
        rule.begin_step()
        return self._train(inputs, labels, chosen, lambda layer: self._update(layer, rule))

    def _update(self, layer: int, rule: Optimizer) -> None:
        parameters = self.parameters[layer]
        rule.update(f"{layer}/weights", parameters.values, parameters.gradient)
        rule.update(f"{layer}/bias", parameters.bias, parameters.bias_gradient)
        parameters.changed()

    def gradients(
        self, inputs: OwnInputs, labels: npt.NDArray[np.int32], chosen: Longs
    ) -> tuple[list[Floats], list[Floats]]:
        """Return the gradients of weights and bias, updating nothing. Collective over all replicas.

        Parameters
        ----------
        inputs, labels, chosen : as for `step`
            The gradients are those of the mean loss, or the paper's of `AveragedGradient`.

        Returns
        -------
        tuple of two lists of arrays
            Per layer (nnz,), in the order of `LayerParameters.values`, and (n_out,); copies.
        """
        self._train(inputs, labels, chosen, lambda layer: None)
        return (
            [parameters.gradient.copy() for parameters in self.parameters],
            [parameters.bias_gradient.copy() for parameters in self.parameters],
        )

    def evaluate(
        self, inputs: OwnInputs, labels: npt.NDArray[np.int32], chosen: Longs
    ) -> tuple[float, int]:
        """Run some samples forward. Collective over all replicas.

        Parameters
        ----------
        inputs, labels, chosen : as for `step`
            There may be fewer samples than replicas.

        Returns
        -------
        tuple of float and int
            The sum of their losses, and how many were right.
        """
        mine = self._share(chosen)
        if len(mine):
            self._forward(self._pass(len(mine)), inputs, labels, mine, None)
        self._start_seen(len(mine))
        return self._all_seen()

    def counted(self) -> tuple[Counted, Counted]:
        """Return what ran forward (evaluation included) and backward, on all ranks. Collective.

        Returns
        -------
        tuple of two Counted
            Summed over all replicas.
        """
        world = self._replicas.world if self._replicas is not None else self._runtime.comm
        forward = [e for current in self._passes.values() for e in current.forward.exchanges]
        return count(world, forward), count(world, self._backwards())

    def counted_passes(self) -> tuple[int, int]:
        """Return `forwarded` and `passes` summed over the replicas. Collective.

        Returns
        -------
        tuple of two ints
            The same on all ranks.
        """
        if self._peers is None:
            return self.forwarded, self.passes
        both = self._peers.allreduce(np.array([self.forwarded, self.passes]))
        return int(both[0]), int(both[1])

    def free(self) -> None:
        """Release requests and datatypes, as `Exchange.free` does."""
        for current in self._passes.values():
            current.forward.free()
        for exchange in self._backwards():
            exchange.free()
        self._seen_sum.free()
        self._sums.free()
        if self._averaged:
            self._averaged.free()

    def _backwards(self) -> list[Exchange]:
        made = {id(p.backward): p.backward for p in self._passes.values() if p.backward}
        return [e for backward in made.values() for e in backward.exchanges]

    def _pass(self, batch: int) -> TrainingPass:
        """Return the passes for a batch size, planned when it is first seen."""
        if batch not in self._passes:
            self._passes[batch] = TrainingPass(self._runtime, self._shard, self.parameters, batch)
        return self._passes[batch]

    def _share(self, chosen: Longs) -> Longs:
        """Return which of the minibatch this replica takes, in order; it may be none."""
        if self._replicas is None:
            return chosen
        return chosen[slice(*self._replicas.share(len(chosen)))]

    def _train(
        self,
        inputs: OwnInputs,
        labels: npt.NDArray[np.int32],
        chosen: Longs,
        update: Callable[[int], None],
    ) -> tuple[float, int]:
        """Run forward and backward; call `update` with each layer once its gradient is whole."""
        backward = self._backward(inputs, labels, chosen)

        def complete(layer: int) -> None:
            self._sums.start(layer)
            for whole in self._sums.done():
                update(whole)

        if backward is not None:
            backward.run(complete)
        else:
            self._no_gradient(complete)
        self._runtime.clock.lap("compute")
        self._runtime.standing.at("end of a step", awaited="the other ranks, if for any")
        for layer in self._sums.rest():
            self._runtime.clock.lap("wait")
            update(layer)
            self._runtime.clock.lap("compute")
        return self._all_seen()

    def _backward(
        self, inputs: OwnInputs, labels: npt.NDArray[np.int32], chosen: Longs
    ) -> Backward | None:
        """Run forward; return the backward pass with δ^L in place, None without samples."""
        mine, current = self._share(chosen), None
        if len(mine):
            current = self._pass(len(mine))
            self._forward(current, inputs, labels, mine, current.slope)
            if len(mine) < len(chosen):  # the slope is that of the mean over `mine`
                current.slope *= len(mine) / len(chosen)
        self._start_seen(len(mine))
        if self._averaged:
            return self._averaged.fill(current, len(mine) / len(chosen))
        if current is None:
            return None
        backward = current.planned_backward()
        backward.delta[...] = current.slope
        return backward

    def _no_gradient(self, complete: Callable[[int], None]) -> None:
        """Take the part in the sums of a replica that has no sample in the minibatch."""
        for layer in reversed(range(len(self.parameters))):
            self.parameters[layer].gradients[...] = 0
            complete(layer)

    def _start_seen(self, n: int) -> None:
        """Begin the sum over replicas of what `_forward` saw; nothing, for n = 0 samples."""
        if not n:
            self._seen[...] = 0
        self._seen_sum.start(0)

    def _all_seen(self) -> tuple[float, int]:
        """Return (sum of the losses, number right) of all replicas."""
        for _ in self._seen_sum.rest():
            pass
        self._runtime.clock.lap("wait")
        return float(self._seen[0]), int(self._seen[1])

    def _forward(
        self,
        current: TrainingPass,
        inputs: OwnInputs,
        labels: npt.NDArray[np.int32],
        chosen: Longs,
        slope: Floats | None,
    ) -> None:
        """Run forward, note loss and number right, set `slope` to δ^L of the mean loss."""
        inputs.fill(current.forward.levels[0], chosen)
        self._runtime.clock.lap("pack")
        x = current.forward.run()
        self.forwarded += len(chosen)
        self.passes += 1
        self._runtime.standing.at("loss", awaited=self._runtime.others)
        self._seen[...] = self._loss.evaluate(x, labels[chosen], slope)
        self._runtime.clock.lap("compute")
        if slope is not None:
            last = self._shard.layers[-1]
            for panel in range(len(x)):
                self._runtime.kernel.multiply_by_derivative(
                    slope[panel], x[panel], last.activation, last.clip, current.scratch
                )
