"""Once planned, passes and steps allocate nothing that grows with the network or the batch."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from hpc.io.shard import build_shard
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.inputs import OwnInputs
from hpc.spdnn.kernels import kernel
from hpc.spdnn.optimizers import optimizer
from hpc.spdnn.runtime import Runtime
from hpc.spdnn.trainer import Trainer
from tests.spdnn.serial import random_layers, random_plan
from tests.spdnn.share import forward_pass

pytestmark = pytest.mark.mpi
SIZES, BATCH = (600, 600, 600), 128
SMALL = 60_000
"""Bytes: Python's own objects. One (600, 128) array of float32 is five times as large."""


class Halves(OwnInputs):
    def __init__(self):
        pass

    def fill(self, x, chosen):
        x[...] = 0.5


def gained(run):
    """Return the most bytes that were held at once over ten runs, beyond what was held before."""
    for _ in range(3):
        run()
    tracemalloc.start()
    run()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(10):
        run()
    most = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return most


@pytest.mark.parametrize("name", ["scipy", "numba"])
def test_a_pass(comm, name):
    layers = random_layers(SIZES, 0.05, 1, np.float32, ("relu",))
    plan = random_plan(SIZES, comm.size, 1)
    forward, _ = forward_pass(comm, layers, plan, BATCH, kernel(name))
    forward.levels[0][...] = 0.5
    assert gained(forward.run) < SMALL
    forward.free()


@pytest.mark.parametrize("rule", ["sgd", "momentum", "adam"])
def test_a_step(comm, rule):
    layers = random_layers(SIZES, 0.05, 1, np.float32, ("relu",))
    shard = build_shard(layers, random_plan(SIZES, comm.size, 1), comm.rank)
    runtime = Runtime(comm, kernel("numba"), Stopwatch())
    trainer, steps = Trainer(runtime, shard, "mse", "exact"), optimizer(rule, 1e-6)
    labels, chosen = np.zeros(BATCH, np.int32), np.arange(BATCH)
    assert gained(lambda: trainer.step(Halves(), labels, chosen, steps)) < SMALL
    trainer.free()
