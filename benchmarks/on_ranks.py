"""The engine's passes timed from inside: run by other benchmarks under mpirun.

mpirun -n 2 python benchmarks/on_ranks.py net.h5 --plan plan.h5 --batch 128 --json out.json

Seconds of the slowest rank, median of --repeats: `forward` (all layers), `kernels` (the same
products without messages, on each rank alone), `messages` (the same messages without products,
layer after layer), `step` (forward, backward, update), and the
largest memory that Python allocated in ten further passes or steps (`allocated_bytes`).
With --copies every rank runs the whole network by itself, all at the same time: what cores that
share a memory can do at best.
"""

from __future__ import annotations

import argparse
import json
import tracemalloc
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np
from mpi4py import MPI

from hpc.comm.replicas import replica_groups
from hpc.report.stopwatch import Stopwatch
from hpc.spdnn.forward import Forward, plan_forward
from hpc.spdnn.inputs import OwnInputs
from hpc.spdnn.kernels import kernel
from hpc.spdnn.levels import level_rows, panel_shape
from hpc.spdnn.load import load_shard
from hpc.spdnn.optimizers import SGD
from hpc.spdnn.panels import aligned
from hpc.spdnn.runtime import Runtime, layer_weights
from hpc.spdnn.trainer import Trainer


class Same(OwnInputs):
    """The same inputs always."""

    def __init__(self) -> None:
        """Hold none."""

    def fill(self, x: np.ndarray, chosen: np.ndarray) -> None:
        """Set all inputs to one number."""
        x[...] = 0.5


def main() -> None:
    with ExitStack() as stack:
        measure(stack)


def measure(stack: ExitStack) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("--plan")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--waves", type=int, default=1)
    parser.add_argument("--kernel", default="auto")
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--only", nargs="+", choices=("forward", "kernels", "messages", "step"))
    parser.add_argument("--copies", action="store_true")
    parser.add_argument("--replicas", type=int, default=1, help="groups that share the batch")
    parser.add_argument("--json", type=Path, required=True)
    args = parser.parse_args()
    world = MPI.COMM_WORLD
    ranks = None if args.copies else stack.enter_context(replica_groups(world, args.replicas))
    comm = ranks.group if ranks else MPI.COMM_SELF
    shard = load_shard(comm, args.network, args.plan).shard
    share = slice(*ranks.share(args.batch)) if ranks else slice(0, args.batch)
    ways: dict[str, Callable[[], object]] = {}
    wanted = args.only or ("forward", "kernels", "step")
    runtime = Runtime(comm, kernel(args.kernel), Stopwatch())
    forward = planned(runtime, shard, share.stop - share.start, args.waves)
    if "forward" in wanted:
        ways["forward"] = forward.run
    if "kernels" in wanted:
        ways["kernels"] = lambda: kernels(forward)
    if "messages" in wanted:
        ways["messages"] = lambda: messages(forward)
    if "step" in wanted:
        trainer = Trainer(
            Runtime(comm, kernel(args.kernel), Stopwatch()), shard, "mse", "exact", ranks
        )
        labels, chosen, rule = np.zeros(args.batch, np.int32), np.arange(args.batch), SGD(1e-9)
        ways["step"] = lambda: trainer.step(Same(), labels, chosen, rule)
    found = {
        "ranks": world.size,
        "batch": args.batch,
        "edges": comm.allreduce(sum(layer.n_edges for layer in shard.layers)),
        "allocated_bytes": {name: allocated(world, way) for name, way in ways.items()},
        **timed(world, ways, args.repeats),
    }
    if world.rank == 0:
        args.json.write_text(json.dumps(found))


def planned(runtime: Runtime, shard: object, batch: int, waves: int) -> Forward:
    panels, width = panel_shape(batch)
    sides = 3 if waves > 1 else 2
    rows = level_rows(shard)
    memory = [aligned(max(rows) * batch, shard.dtype) for _ in range(sides)]
    for side in memory:
        side[...] = 0.5
    levels = [memory[k % sides][: n * batch].reshape(panels, n, width) for k, n in enumerate(rows)]
    biases = [layer.bias for layer in shard.layers]
    return plan_forward(runtime, shard, layer_weights(shard), biases, levels, waves=waves)


def kernels(forward: Forward) -> None:
    """Multiply every part of every layer; nothing is sent or awaited."""
    for waves in forward.layers:
        for layer in waves:
            layer._sum.multiply_core(lambda: None)
            for index in range(len(layer._sum._parts)):
                layer._sum.take(index)
            layer._sum.finish()


def messages(forward: Forward) -> None:
    """Send and receive what every layer does; nothing is multiplied."""
    for exchange in forward.exchanges:
        exchange.finish_sends()  # those of a pass before
    for waves in forward.layers:
        for layer in waves:
            layer.exchange.start_receives()
            layer.exchange.start_sends()
        for layer in waves:
            for _ in layer.exchange.arrivals():
                pass
            layer.exchange.finish_sends()


def timed(
    comm: MPI.Comm, ways: dict[str, Callable[[], object]], repeats: int
) -> dict[str, list[float]]:
    """Run every way once a round, in turn; return the slowest rank's seconds of each round."""
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, way in ways.items():
            comm.Barrier()
            began = perf_counter()
            way()
            seconds[name].append(comm.allreduce(perf_counter() - began, op=MPI.MAX))
    return seconds | {f"{name}_s": median(all_of) for name, all_of in seconds.items()}


def allocated(comm: MPI.Comm, way: Callable[[], object]) -> int:
    """Return what Python's allocators gained over ten runs after warm-up, on the worst rank."""
    for _ in range(3):
        way()
    tracemalloc.start()
    way()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    for _ in range(10):
        way()
    gained = tracemalloc.get_traced_memory()[1] - before
    tracemalloc.stop()
    return comm.allreduce(gained, op=MPI.MAX)


if __name__ == "__main__":
    main()
