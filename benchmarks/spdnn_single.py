"""A batch of one, the paper's SGD: time per input vector, inference and training, 1 and 2 ranks.

python benchmarks/spdnn_single.py [--neurons 1024 4096 16384] [--layers 24]

`kernels` is the time of the same products with nothing around them. "2 copies" are two ranks that
run the whole network each, at the same time: twice that speed is what 2 ranks can reach here.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from running import figures, keep, machine, run

from hpc.report.figures import table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--neurons", type=int, nargs="+", default=[1024, 4096, 16384])
    parser.add_argument("--layers", type=int, default=24)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    print(f"L = {args.layers}, batch {args.batch}; {machine()}")
    found: dict[str, Any] = {}
    rows = []
    for neurons in args.neurons:
        network, plan = prepared(args, neurons)
        common = ("--batch", args.batch, "--repeats", args.repeats)
        ways: dict[str, tuple[int, tuple[Any, ...]]] = {
            "1": (1, ()),
            "2": (2, ("--plan", plan)),
            "2 replicas": (2, ("--replicas", 2)),
            "2 copies": (2, ("--copies",)),
        }
        if args.batch == 1:
            del ways["2 replicas"]
        for name, (ranks, options) in ways.items():
            got = figures(
                args.work / "single.json", "benchmarks/on_ranks.py", network, *options, *common,
                ranks=ranks,
            )  # fmt: skip
            found[f"{neurons} on {name}"] = got
            rows.append([
                f"{neurons:,}", name, *(f"{1e3 * got[f'{way}_s']:.3f}" for way in WAYS),
                f"{got['forward_s'] / got['kernels_s']:.2f}",
                f"{got['step_s'] / got['forward_s']:.2f}",
            ])  # fmt: skip
    head = ["N", "ranks", *(f"{way} ms" for way in WAYS), "forward / kernels", "step / forward"]
    print(table(head, rows))
    keep(f"spdnn_batch_{args.batch}", found)


WAYS = ("kernels", "forward", "step")


def prepared(args: argparse.Namespace, neurons: int) -> tuple[Path, Path]:
    """Return network and plan, made if they are not there yet."""
    network, plan = (args.work / f"{what}-{neurons}-{args.layers}.h5" for what in ("net", "plan"))
    if not network.exists():
        make = ("-m", "datasets", "graph-challenge", "--neurons", neurons)
        run(*make, "--layers", args.layers, "--out", network)
    if not plan.exists():
        run("-m", "partition", "build", network, "--parts", 2, "--out", plan)
    return network, plan


if __name__ == "__main__":
    main()
