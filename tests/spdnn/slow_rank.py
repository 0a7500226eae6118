"""Runs the sparse engine, watched over, with a rank whose kernel goes to sleep: a program.

python -m tests.spdnn.slow_rank infer|train NETWORK INPUTS SLOW_RANK REPLICAS
"""

from __future__ import annotations

import sys
import time

from mpi4py import MPI

from hpc.comm.standing import Standing
from hpc.comm.watchdog import watched
from hpc.spdnn.inference import infer
from hpc.spdnn.kernels import ScipyKernel
from hpc.spdnn.load import load_shard
from hpc.spdnn.training import TrainOptions, train

STALL_S = 2.0
PRODUCTS = 40


class Sleepy(ScipyKernel):
    """Multiplies some times, then sleeps."""

    left = PRODUCTS

    def multiply(self, weights, x, out):
        self.left -= 1
        if not self.left:
            time.sleep(1000)
        super().multiply(weights, x, out)


def main(what, network, inputs, slow, replicas):
    comm, count = MPI.COMM_WORLD, int(replicas)
    local = Sleepy() if comm.rank == int(slow) else ScipyKernel()
    shard = load_shard(comm, network, None, None, count).shard
    standing = Standing()
    with watched(comm, standing, STALL_S):
        if what == "infer":
            infer(comm, shard, inputs, batch=8, kernel=local, replicas=count, standing=standing)
        else:
            train(comm, shard, inputs, TrainOptions(batch=8), kernel=local, replicas=count,
                  standing=standing)  # fmt: skip


if __name__ == "__main__":
    main(*sys.argv[1:])
