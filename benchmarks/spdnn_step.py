"""A training step of one layer: ours on 1 and 2 ranks, scipy's kernel, torch autograd.

python benchmarks/spdnn_step.py [--neurons 4096] [--degree 32] [--batch 256]

Forward, backward and SGD update with mse. Peers use 2 threads; each round runs all in turn,
ratios are medians over the rounds. All must give the same weights after one step.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch
from running import figures, keep, machine, ratio, run

from hpc.io.network import open_network
from hpc.report.figures import table

LR = 1e-9


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--neurons", type=int, default=4096)
    parser.add_argument("--degree", type=int, default=32)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    network, plan = (args.work / f"layer-{args.neurons}{end}.h5" for end in ("", "-plan"))
    make = ("-m", "datasets", "random", "--sizes", f"{args.neurons},{args.neurons}")
    rest = ("--degree", args.degree, "--kind", "er", "--init", "scaled", "--activation", "relu")
    run(*make, *rest, "--out", network)
    run("-m", "partition", "build", network, "--parts", 2, "--out", plan)
    print(f"one layer, N = {args.neurons}, degree {args.degree}, batch {args.batch}; {machine()}")
    seconds = rounds(args, network, plan)
    base = median(seconds["ours, 2 ranks"])
    rows = [
        [name, f"{1e3 * median(times):.2f}", f"{ratio(seconds, name, 'ours, 2 ranks'):.1f}"]
        for name, times in seconds.items()
    ]
    print(table(["", "ms a step", "times ours on 2 ranks"], rows))
    keep("spdnn_step", {"seconds": seconds, "ours_s": base})


def rounds(args: argparse.Namespace, network: Path, plan: Path) -> dict[str, list[float]]:
    torch.set_num_threads(2)
    peers = {
        "torch dense masked, 2 threads": torch_step(network, args.batch, dense=True),
        "torch sparse CSR, 2 threads": torch_step(network, args.batch, dense=False),
    }
    ours = {
        "ours, 1 rank": (1, ()),
        "ours, 2 ranks": (2, ("--plan", plan)),
        "ours, 2 ranks, replicas": (2, ("--replicas", 2)),
        "ours on scipy, 1 rank": (1, ("--kernel", "scipy")),
    }
    seconds: dict[str, list[float]] = {name: [] for name in (*ours, *peers)}
    for _ in range(args.rounds):
        for name, (ranks, options) in ours.items():
            got = figures(
                args.work / "step.json", "benchmarks/on_ranks.py", network, *options,
                "--batch", args.batch, "--only", "step", ranks=ranks,
            )  # fmt: skip
            seconds[name].append(got["step_s"])
        for name, step in peers.items():
            step()
            seconds[name].append(median(timed(step) for _ in range(5)))
    return seconds


def timed(step: Callable[[], object]) -> float:
    began = perf_counter()
    step()
    return perf_counter() - began


def torch_step(network: Path, batch: int, dense: bool) -> Callable[[], object]:
    """Return a step of torch autograd on the same layer."""
    with open_network(network) as file:
        layer = file.layer(0)
    shape, bias = layer.weight.shape, torch.tensor(layer.bias, requires_grad=True)
    x = torch.full((shape[1], batch), 0.5)
    target = torch.zeros(shape[0], batch)
    target[0] = 1
    indptr, indices = (
        torch.from_numpy(a.copy()) for a in (layer.weight.indptr, layer.weight.indices)
    )
    mask = torch.from_numpy(np.asarray((layer.weight != 0).toarray(), np.float32))
    values: Any = torch.from_numpy(layer.weight.toarray() if dense else layer.weight.data.copy())
    values.requires_grad_(True)

    from_csr = torch.sparse_csr_tensor

    def step() -> None:
        weight = values * mask if dense else from_csr(indptr, indices, values, shape)
        y = torch.relu(weight @ x + bias[:, None])
        loss = torch.nn.functional.mse_loss(y, target)
        gradients = torch.autograd.grad(loss, (values, bias))
        with torch.no_grad():
            values.sub_(LR * gradients[0])
            bias.sub_(LR * gradients[1])

    return step


if __name__ == "__main__":
    main()
