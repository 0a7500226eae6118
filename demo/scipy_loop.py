"""Inference by a serial scipy loop that keeps every column: what the engine is compared with."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from time import perf_counter

import numpy as np

from hpc.io.network import open_network
from hpc.io.samples import open_samples
from hpc.report.figures import quantity


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("network")
    parser.add_argument("inputs")
    parser.add_argument("--json", type=Path, help="figures of `spdnn infer`, to compare with")
    args = parser.parse_args()
    with open_network(args.network) as network, open_samples(args.inputs) as samples:
        layers = list(network.layers())
        width, n_samples = samples.header.width, samples.header.n_samples
        x = samples.inputs(0, n_samples, np.arange(width), network.header.dtype)
        edges = network.header.n_edges
    began = perf_counter()
    for layer in layers:
        x = layer.weight @ x + layer.bias[:, None]
        np.clip(x, 0, layer.clip, out=x)
    categories = int(x.any(axis=0).sum())
    seconds = perf_counter() - began
    rate = edges * n_samples / seconds
    print(
        f"serial scipy loop: {categories} categories, {seconds:.3f} s, {quantity(rate, 'edges/s')}"
    )
    if args.json:
        ours = json.loads(args.json.read_text())
        print(
            f"{ours['ranks']} ranks of the engine: {ours['categories']} categories, "
            f"{ours['seconds']:.3f} s: {seconds / ours['seconds']:.1f} times as fast"
        )


if __name__ == "__main__":
    main()
