"""The table of the partition tool: volume, messages, balance, seconds and memory of plans.

python benchmarks/partition_table.py 1024 --parts 8,32,512 [--layers 120] [--work DIR]

The official network of N neurons is cut with windows and one layer at a time
(epsilon 0.01, owners of x^0 included). --base takes its layers before the first
permutation only (log2(N / 16) of them), where windows gain most.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter
from typing import Any

from running import ROOT, keep, machine, run

from hpc.io.plan import read_plan
from hpc.report.figures import table
from partition.stats import costs_of, figures

HEAD = (
    "P", "window", "less words", "words", "of 1 at a time", "less messages", "imbalance",
    "max / avg send", "seconds", "cpu s", "peak MiB",
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("neurons", type=int)
    parser.add_argument("--parts", default="8,32,64,128,256,512")
    parser.add_argument("--layers", type=int, default=120)
    parser.add_argument("--base", action="store_true")
    parser.add_argument("--windows", default="1,auto")
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    layers = base_layers(args.neurons) if args.base else args.layers
    network = challenge(args.work, args.neurons, layers)
    print(f"N = {args.neurons}, L = {layers}; {machine()}, load {os.getloadavg()[0]:.1f}")
    results = []
    for parts in args.parts.split(","):
        built = [built_plan(network, int(parts), window) for window in args.windows.split(",")]
        results += built
        print(table(HEAD, [row(one, built[0]) for one in built]), flush=True)
    keep(f"partition_{args.neurons}_{layers}", {"plans": results})


def base_layers(neurons: int) -> int:
    """Return how many layers of the official network come before the first permutation."""
    return (neurons // 16).bit_length() - 1


def challenge(work: Path, neurons: int, layers: int) -> Path:
    """Return the official network, made if it is not there yet."""
    network = work / f"challenge-{neurons}-{layers}.h5"
    make = ("-m", "datasets", "graph-challenge", "--neurons", neurons, "--layers", layers)
    if not network.exists():
        run(*make, "--out", network)
    return network


def built_plan(network: Path, parts: int, window: str, *more: str) -> dict[str, Any]:
    """Build a plan in a process of its own; return its figures, seconds and peak memory.

    more : further options of `partition build`.
    """
    plan = network.with_suffix(f".plan-{parts}.h5")
    options = ("--parts", str(parts), "--window", window, *more, "--out", str(plan))
    began = perf_counter()
    child = subprocess.Popen(
        [sys.executable, "-m", "partition", "build", str(network), *options],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"building for {parts} ranks failed")
    return {
        **figures(costs_of(read_plan(plan), str(plan))),
        "window": window,
        "seconds": perf_counter() - began,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * 1024,
    }


def row(found: dict[str, Any], one_at_a_time: dict[str, Any]) -> list[str]:
    words, average = found["volume_words"], found["volume_words"] / found["parts"]
    return [
        str(found["parts"]),
        found["window"],
        f"{100 * (1 - words / found['random_volume_words']):.1f} %",
        f"{words:,}",
        f"{words / one_at_a_time['volume_words']:.3f}",
        f"{100 * (1 - found['messages'] / found['random_messages']):.1f} %",
        f"{found['imbalance']:.4f}",
        f"{found['max_send_words'] / average:.2f}",
        f"{found['seconds']:.1f}",
        f"{found['cpu_s']:.1f}",
        f"{found['peak_bytes'] / 2**20:.0f}",
    ]


if __name__ == "__main__":
    main()
