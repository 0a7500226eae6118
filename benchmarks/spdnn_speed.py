"""Ours and others side by side on a Challenge network: kernels, then whole inference.

python benchmarks/spdnn_speed.py --mnist ../shared/data/mnist [--neurons 1024] [--layers 120]

Every ratio is the median over rounds in which all ran once, in turn. Peers that keep every
column run a share of the images (--peer-images); rates are per edge and image.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, thread_time
from typing import Any

import numpy as np
from peers import graphblas_loop, scipy_loop, torch_loop
from running import figures, keep, machine, ratio, run
from scipy import sparse

from hpc.io.halo import Part
from hpc.io.network import Layer, open_network
from hpc.io.plan import block_plan
from hpc.io.samples import open_samples
from hpc.io.shard import build_shard
from hpc.report.figures import table
from hpc.spdnn.bits_sum import BitsSum
from hpc.spdnn.fused_sum import FusedSum
from hpc.spdnn.kernels import Kernel, ScipyKernel, Weights, kernel
from hpc.spdnn.numba_kernel import product_loops, widest_tile
from hpc.spdnn.panels import aligned
from hpc.spdnn.row_order import reorder

PANEL = 64


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    parser.add_argument("--neurons", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=120)
    parser.add_argument("--images", type=int, default=60000)
    parser.add_argument("--peer-images", type=int, default=2000)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=("kernels", "inference"))
    parser.add_argument("--ours-only", action="store_true", help="inference without the peers")
    parser.add_argument("--merged-only", action="store_true", help="without 'every column'")
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    network, plan, images = prepare(args)
    found: dict[str, Any] = {}
    print(f"N = {args.neurons}, L = {args.layers}; {machine()}")
    if args.only != "inference":
        found["kernels"] = kernels(network, args.rounds)
    if args.only != "kernels":
        found["inference"] = inference(args, network, plan, images)
    keep(f"spdnn_speed_{args.neurons}_{args.layers}", found)


def prepare(args: argparse.Namespace) -> tuple[Path, Path, Path]:
    """Make network, plan and images that are not there yet."""
    network = args.work / f"net-{args.neurons}-{args.layers}.h5"
    plan = args.work / f"plan-{args.neurons}-{args.layers}.h5"
    images = args.work / f"images-{args.neurons}-{args.images}.h5"
    make = ("-m", "datasets", "graph-challenge", "--neurons", args.neurons)
    if not network.exists():
        run(*make, "--layers", args.layers, "--out", network)
    if not images.exists():
        run(*make, "--images-from", args.mnist, "--first", args.images, "--out", images)
    if not plan.exists():
        run("-m", "partition", "build", network, "--parts", 2, "--out", plan)
    return network, plan, images


def alternate(ways: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Run every way once a round, after one round that does not count; return its seconds.

    Seconds of this thread's processor time: what else runs on the machine counts little.
    """
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            began = thread_time()
            way()
            if number:
                seconds[name].append(thread_time() - began)
    return seconds


def kernels(network: Path, rounds: int) -> dict[str, float]:
    """One layer in the plan's row order: ours, scipy, from bits, and the same kernel in L1."""
    with open_network(network) as file:
        layers = [file.layer(k) for k in (file.header.n_layers - 2, file.header.n_layers - 1)]
    rounds = max(rounds, 15)
    ways, edges = one_layer(layers)
    seconds = alternate(ways, rounds)
    result = {f"{name} Gedges/s": edges[name] / median(seconds[name]) / 1e9 for name in ways}
    result["numba / scipy"] = ratio(seconds, "scipy", "numba")
    per_edge = {name: [s / edges[name] for s in seconds[name]] for name in ways}
    result["numba / limit"] = ratio(per_edge, "in L1", "numba")
    result["bits / numba"] = ratio(per_edge, "numba", "bits")
    print(table(["kernel, one core", ""], [[k, f"{v:.2f}"] for k, v in result.items()]))
    return result


def one_layer(layers: list[Layer]) -> tuple[dict[str, Callable[[], object]], dict[str, int]]:
    sizes = (layers[0].weight.shape[1], *(layer.weight.shape[0] for layer in layers))
    shard = build_shard(layers, block_plan(sizes, 1), 0)
    reorder(shard)
    layer, ours = shard.layers[-1], kernel("numba")
    panels = max(2, 2**21 // (PANEL * layer.n_in))
    rng = np.random.default_rng(0)
    x, z = (levels(panels, rows) for rows in (layer.n_in, layer.n_out))
    bits = rng.random((panels, layer.n_in, PANEL)) < 0.3
    x[...] = bits
    words = np.packbits(bits, axis=2, bitorder="little").view(np.uint64)
    weights, empty = [Weights(layer.core)], np.empty(0, np.float32)
    fused = FusedSum(ours, layer, weights, layer.bias, (x, z), empty, empty)
    from_bits = BitsSum(ours, layer, weights, layer.bias, (words, z.copy()), empty, empty)
    columns = rng.integers(0, PANEL, 32 * PANEL).astype(np.int32)
    rows = np.arange(PANEL, dtype=np.int32)
    small = Weights(
        Part(0, rows, np.arange(0, 32 * PANEL + 1, 32), columns, np.ones(32 * PANEL, np.float32))
    )
    near, near_z = levels(1, PANEL).reshape(-1), levels(1, PANEL).reshape(-1)
    multiply, output = product_loops(near.dtype).multiply, ours._in_order(PANEL, near.dtype)
    widest = widest_tile(near.dtype)

    def panel_by_panel(local: Kernel) -> None:
        for source, target in zip(x, z, strict=True):
            local.multiply(weights[0], source, target)
            np.add(target, layer.bias[:, None], out=target)
            np.clip(target, 0, layer.clip, out=target)

    repeats = 200
    edges = panels * PANEL * len(layer.core.data)
    return {
        "numba": lambda: fused.multiply_core(lambda: None),
        "scipy": lambda: panel_by_panel(ScipyKernel()),
        "bits": lambda: from_bits.multiply_core(lambda: None),
        "in L1": lambda: multiply(  # the same panel again and again: pitch 0
            small.csr, output, near, 0, near_z, 0, PANEL, (0, repeats), (0, PANEL), widest
        ),
    }, {"numba": edges, "scipy": edges, "bits": edges, "in L1": repeats * 32 * PANEL * PANEL}


def levels(panels: int, rows: int) -> Any:
    return aligned(panels * rows * PANEL, np.float32).reshape(panels, rows, PANEL)


def inference(args: argparse.Namespace, network: Path, plan: Path, images: Path) -> dict[str, Any]:
    """All images through all layers: ours on 1 and 2 ranks, merged and not, and the peers."""
    with open_network(network) as file:
        layers = list(file.layers())
    weights: list[sparse.csr_array] = [layer.weight for layer in layers]
    bias = float(layers[0].bias[0])
    with open_samples(images) as samples:
        rows = np.arange(args.neurons, dtype=np.int32)
        x = samples.inputs(0, args.images, rows, np.float32)
    few = np.ascontiguousarray(x[:, : args.peer_images])
    share = args.images / args.peer_images
    answers: dict[str, Any] = {}
    ours = {
        "ours, 1 rank": (network, 1, ()),
        "ours, 2 ranks": (network, 2, ("--plan", plan)),
        "ours, 2 ranks, replicas": (network, 2, ("--replicas", 2)),
        "ours, every column, 2 ranks": (network, 2, ("--plan", plan, "--no-merge", "--batch", 256)),
        "ours, every column, 2 ranks, replicas": (
            network,
            2,
            ("--replicas", 2, "--no-merge", "--batch", 256),
        ),
    }
    peers = (
        {}
        if args.ours_only
        else {
            "GraphBLAS, 2 threads": (graphblas_loop(weights, bias, x, 2), 1.0),
            "scipy, every column": (scipy_loop(weights, bias, few), share),
            "torch CSR, every column, 2 threads": (torch_loop(weights, bias, few, 2), share),
        }
    )
    if args.merged_only:
        ours, peers = (
            {name: way for name, way in group.items() if "every column" not in name}
            for group in (ours, peers)
        )
    seconds: dict[str, list[float]] = {name: [] for name in (*ours, *peers)}
    for _ in range(args.rounds):
        for name, (file, ranks, options) in ours.items():
            out = args.work / "categories.tsv"
            got = figures(
                args.work / "figures.json", "-m", "hpc", "spdnn", "infer", file, images,
                "--batch", args.batch, "--out", out, "--quiet", *options, ranks=ranks,
            )  # fmt: skip
            seconds[name].append(got["seconds"])
            answers[name] = np.loadtxt(out, np.int64, ndmin=1)
        for name, (way, factor) in peers.items():
            began = perf_counter()
            answers[name] = way()
            seconds[name].append((perf_counter() - began) * factor)
    return summary(args, seconds, answers, sum(w.nnz for w in weights))


def summary(
    args: argparse.Namespace, seconds: dict[str, list[float]], answers: dict[str, Any], edges: int
) -> dict[str, Any]:
    base, plain = "GraphBLAS, 2 threads", "scipy, every column"
    if args.ours_only:
        base = "ours, 1 rank"
    if plain not in seconds:
        plain = base
    truth = answers[base]
    for name, answer in answers.items():
        if not np.array_equal(answer, truth[truth <= args.peer_images] if "every column" in name
                              and "ours" not in name else truth):  # fmt: skip
            raise SystemExit(f"{name} gives {len(answer)} categories, {base} {len(truth)}")
    rows = [
        [
            name,
            f"{median(times):.3f}",
            f"{edges * args.images / median(times) / 1e9:.1f}",
            f"{ratio(seconds, base, name):.2f}",
            f"{ratio(seconds, plain, name):.2f}",
        ]
        for name, times in seconds.items()
    ]
    print(table(["", "s", "Gedges/s", f"times {base}", f"times {plain}"], rows))
    print(f"{len(truth)} categories, all agree")
    return {"seconds": seconds, "categories": len(truth), "edges": edges, "images": args.images}


if __name__ == "__main__":
    main()
