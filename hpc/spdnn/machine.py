"""What a layer costs on this machine: the engine itself timed on small networks, and a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from statistics import median
from time import perf_counter

import numpy as np
import numpy.typing as npt
from mpi4py import MPI
from scipy.optimize import nnls

from hpc.io.machine import Costs, Rates, work
from hpc.io.shard import Shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.forward import plan_forward
from hpc.spdnn.inputs import OwnInputs
from hpc.spdnn.kernels import Kernel
from hpc.spdnn.levels import turning_levels
from hpc.spdnn.machine_cases import BATCHES, N_LAYERS, ROWS, Case, case_shard, cases
from hpc.spdnn.optimizers import SGD
from hpc.spdnn.runtime import Runtime, layer_weights
from hpc.spdnn.trainer import Trainer

REPEATS, LEAST_S = 5, 0.01
"""Timings of a case, of which the median counts, and how long one lasts at least."""

Floats = npt.NDArray[np.floating]


def measure(
    comm: MPI.Comm,
    kernel: Kernel,
    on_case: Callable[[], None] = lambda: None,
    repeats: int = REPEATS,
) -> tuple[Costs, Costs]:
    """Return what inference costs and what training does. Collective.

    Parameters
    ----------
    comm : MPI.Comm
        2 ranks or more: with one no message is timed.
    kernel : Kernel
        Multiplies.
    on_case : callable
        Called after each of len(cases()) cases.
    repeats : int
        Timings of each; 0 for a single run after one that is not counted.

    Returns
    -------
    tuple of two Costs
        In seconds: of a forward pass, and of a whole training step.
    """
    amounts, inference, training = [], [], []
    for case in cases():
        shard = case_shard(case, comm.size, comm.rank)
        amounts.append(_work(case, shard))
        inference.append(_time_forward(comm, kernel, shard, case.batch, repeats))
        training.append(_time_step(comm, kernel, shard, case.batch, repeats))
        on_case()
    done = np.array(amounts)
    return costs(cases(), done, np.array(inference)), costs(cases(), done, np.array(training))


def costs(every: Sequence[Case], amounts: Floats, seconds: Floats) -> Costs:
    """Return the coefficients that each number of rows and each batch have. Pure.

    What a layer and a message cost is told best by the least work, and taken from there.

    Parameters
    ----------
    every : sequence of Case
        What was timed; all pairs of ROWS and BATCHES are among it.
    amounts : (cases, 5) float array
        From `hpc.io.machine.work`, per layer.
    seconds : (cases,) float array
        Of a layer.

    Returns
    -------
    Costs
        Seconds per unit of work.
    """
    rows, batch = np.array([(case.rows, case.batch) for case in every]).T
    least = (rows == min(ROWS)) & (batch == min(BATCHES))
    layer_s, _, message_s, _ = fit(amounts[least][:, [0, 1, 3, 4]], seconds[least])
    common = amounts[:, [0, 3]] @ [layer_s, message_s]
    found = []
    for n, b in product(ROWS, BATCHES):
        here = (rows == n) & (batch == b)
        edge_s, row_s, word_s = fit(amounts[here][:, [1, 2, 4]], seconds[here], common[here])
        found.append(Rates(layer_s, edge_s, row_s, message_s, word_s))
    return Costs(ROWS, BATCHES, tuple(found))


def fit(amounts: Floats, seconds: Floats, known: Floats | float = 0.0) -> list[float]:
    """Return the coefficients, none below 0, of least squared relative error. Pure.

    Parameters
    ----------
    amounts : (cases, n) float array
        How much of each kind of work a case does.
    seconds : (cases,) float array
        What it takes.
    known : (cases,) float array or float
        Seconds of that which are explained already.

    Returns
    -------
    list of n floats
        Seconds per unit of each kind.
    """
    scale = np.maximum(amounts.max(axis=0), 1)
    share = np.maximum(1 - known / seconds, 0)
    found, _ = nnls(amounts / scale / seconds[:, None], share)
    result: list[float] = (found / scale).tolist()
    return result


def _work(case: Case, shard: Shard) -> Floats:
    edges = sum(layer.n_edges for layer in shard.layers) / N_LAYERS
    sends = shard.layers[0].sends
    words = sum(len(rows) for _, rows in sends)
    return work(case.batch, edges, case.rows, len(sends), words)


def _time_forward(comm: MPI.Comm, kernel: Kernel, shard: Shard, batch: int, repeats: int) -> float:
    levels = turning_levels(shard, batch, shard.dtype)
    for level in levels:
        level[...] = 0.5
    biases = [layer.bias for layer in shard.layers]
    runtime = Runtime(comm, kernel, Stopwatch())
    forward = plan_forward(runtime, shard, layer_weights(shard), biases, levels)
    seconds = _typical(comm, forward.run, repeats) / N_LAYERS
    forward.free()
    return seconds


def _time_step(comm: MPI.Comm, kernel: Kernel, shard: Shard, batch: int, repeats: int) -> float:
    trainer = Trainer(Runtime(comm, kernel, Stopwatch()), shard, "mse", "exact")
    labels, chosen, rule = np.zeros(batch, np.int32), np.arange(batch), SGD(1e-6)

    def step() -> object:
        return trainer.step(_NoInputs(), labels, chosen, rule)

    seconds = _typical(comm, step, repeats) / N_LAYERS
    trainer.free()
    return seconds


class _NoInputs(OwnInputs):
    """Inputs that cost next to nothing."""

    def __init__(self) -> None:
        """Hold none."""

    def fill(self, x: Floats, chosen: npt.NDArray[np.integer]) -> None:
        """Set all inputs to the same number."""
        x[...] = 0.5


def _typical(comm: MPI.Comm, run: Callable[[], object], repeats: int) -> float:
    """Return the seconds of a run: of the slowest rank, the median of the repeats."""
    run()
    began = perf_counter()
    run()
    once = comm.allreduce(perf_counter() - began, op=MPI.MAX)
    if not repeats:
        return once
    runs = max(int(LEAST_S / max(once, 1e-7)), 1)
    found = []
    for _ in range(repeats):
        comm.Barrier()
        began = perf_counter()
        for _ in range(runs):
            run()
        found.append(comm.allreduce(perf_counter() - began, op=MPI.MAX) / runs)
    return median(found)
