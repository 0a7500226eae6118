"""One training step of a rank: forward, loss, backward with the update inside."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hpc.comm.exchange import Exchange
from hpc.io.shard import Shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.activations import multiply_by_derivative
from hpc.spdnn.backward import Backward
from hpc.spdnn.counters import Counted, count
from hpc.spdnn.forward import Forward
from hpc.spdnn.inputs import OwnInputs
from hpc.spdnn.levels import kept_levels
from hpc.spdnn.losses import loss
from hpc.spdnn.optimizers import Optimizer
from hpc.spdnn.parameters import LayerParameters
from hpc.spdnn.runtime import Runtime

Floats = npt.NDArray[np.floating]
Longs = npt.NDArray[np.int64]
GRADIENTS = ("exact", "averaged")


class Trainer:
    """A rank's trainable share of a network and the passes over it.

    Parameters
    ----------
    runtime : its communicator has shard.size ranks.
    loss_name : see `losses.loss`.
    gradient : 'exact', or 'averaged': the paper's minibatch variant (its section on batches),
        which averages δ^L and every x^k over the batch and propagates one vector back. It
        approximates: f' is taken at the averaged x, and the mean of δ xᵀ by the product of
        the means.

    Attributes
    ----------
    parameters : per layer; the weights and biases that training changes.
    forwarded, passes : samples that went forward so far, and in how many passes.
    """

    def __init__(self, runtime: Runtime, shard: Shard, loss_name: str, gradient: str) -> None:
        self._runtime, self._shard, self._gradient = runtime, shard, gradient
        self.parameters = [LayerParameters(layer, shard.dtype) for layer in shard.layers]
        self._loss = loss(loss_name, runtime.comm, shard.ids[-1], shard.sizes[-1])
        self._passes: dict[int, _Pass] = {}
        self.forwarded = self.passes = 0

    @property
    def clock(self) -> Stopwatch:
        """Where the time of this rank went: compute, wait, pack."""
        return self._runtime.clock

    def step(
        self, inputs: OwnInputs, labels: npt.NDArray[np.int32], chosen: Longs, rule: Optimizer
    ) -> tuple[float, int]:
        """Train on samples `chosen` and return (sum of their losses, number right). Collective."""
        rule.begin_step()

        def update(layer: int) -> None:
            parameters = self.parameters[layer]
            rule.update(f"{layer}/weights", parameters.values, parameters.gradient)
            rule.update(f"{layer}/bias", parameters.bias, parameters.bias_gradient)

        current = self._pass(len(chosen))
        result = self._forward(current, inputs, labels, chosen, current.slope)
        self._backward(current).run(update)
        self._runtime.clock.lap("compute")
        return result

    def gradients(
        self, inputs: OwnInputs, labels: npt.NDArray[np.int32], chosen: Longs
    ) -> tuple[list[Floats], list[Floats]]:
        """Return per layer the gradients of weights and bias, updating nothing. Collective."""
        current = self._pass(len(chosen))
        self._forward(current, inputs, labels, chosen, current.slope)
        self._backward(current).run(lambda layer: None)
        return (
            [parameters.gradient.copy() for parameters in self.parameters],
            [parameters.bias_gradient.copy() for parameters in self.parameters],
        )

    def evaluate(
        self, inputs: OwnInputs, labels: npt.NDArray[np.int32], chosen: Longs
    ) -> tuple[float, int]:
        """Return (sum of the losses, number right) of samples `chosen`. Collective."""
        return self._forward(self._pass(len(chosen)), inputs, labels, chosen, None)

    def counted(self) -> tuple[Counted, Counted]:
        """Return what ran forward (evaluation included) and backward. Collective."""
        forward = [e for current in self._passes.values() for e in current.forward.exchanges]
        return count(self._runtime.comm, forward), count(self._runtime.comm, self._backwards())

    def free(self) -> None:
        """Release requests and datatypes. Local."""
        for current in self._passes.values():
            current.forward.free()
        for exchange in self._backwards():
            exchange.free()

    def _backwards(self) -> list[Exchange]:
        made = {id(p.backward): p.backward for p in self._passes.values() if p.backward}
        return [e for backward in made.values() for e in backward.exchanges]

    def _pass(self, batch: int) -> _Pass:
        """Return the passes for a batch size, planned when it is first seen."""
        if batch not in self._passes:
            self._passes[batch] = _Pass(self._runtime, self._shard, self.parameters, batch)
        return self._passes[batch]

    def _forward(
        self,
        current: _Pass,
        inputs: OwnInputs,
        labels: npt.NDArray[np.int32],
        chosen: Longs,
        slope: Floats | None,
    ) -> tuple[float, int]:
        inputs.fill(current.forward.levels[0], chosen)
        self._runtime.clock.lap("pack")
        x = current.forward.run()
        self.forwarded += len(chosen)
        self.passes += 1
        result = self._loss.evaluate(x, labels[chosen], slope)
        self._runtime.clock.lap("compute")
        if slope is not None:
            last = self._shard.layers[-1]
            for panel in range(len(x)):
                multiply_by_derivative(
                    slope[panel], x[panel], last.activation, last.clip, current.scratch
                )
        return result

    def _backward(self, current: _Pass) -> Backward:
        """Return the backward pass with δ^L in place."""
        if self._gradient == "averaged":
            return self._averaged(current)
        backward = current.planned_backward()
        backward.delta[...] = current.slope
        return backward

    def _averaged(self, current: _Pass) -> Backward:
        single = self._pass(1)
        backward = single.planned_backward()
        for mean, level in zip(single.forward.levels, current.forward.levels, strict=True):
            np.mean(level, axis=(0, 2), out=mean[0, :, 0])
        np.sum(current.slope, axis=(0, 2), out=backward.delta[0, :, 0])
        return backward


class _Pass:
    """Forward and, once asked for, backward for one batch size."""

    def __init__(
        self, runtime: Runtime, shard: Shard, parameters: list[LayerParameters], batch: int
    ) -> None:
        self._runtime, self._shard, self._parameters = runtime, shard, parameters
        levels = kept_levels(shard, batch, shard.dtype)
        weights = [layer.weights for layer in parameters]
        biases = [layer.bias for layer in parameters]
        self.forward = Forward(runtime, shard, weights, biases, levels)
        self.slope = np.zeros_like(levels[-1])
        self.scratch = np.empty(self.slope[0].size, shard.dtype)
        self.backward: Backward | None = None

    def planned_backward(self) -> Backward:
        if self.backward is None:
            self.backward = Backward(
                self._runtime, self._shard, self.forward.levels, self._parameters
            )
        return self.backward
