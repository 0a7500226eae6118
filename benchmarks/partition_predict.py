"""What `partition predict` says beside what the engine takes, on 2 ranks of this machine.

python benchmarks/partition_predict.py [--batch 256] [--repeats 15]

The machine is measured first (`python -m hpc machine`); then each network is cut, predicted and
run, every column computed in one wave: seconds of a forward pass and of a training step.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from running import figures, keep, machine, run

from hpc.report.figures import table

RANKS = 2
NETWORKS: dict[str, tuple[object, ...]] = {
    "challenge 1024, 24 layers": ("graph-challenge", "--neurons", 1024, "--layers", 24),
    "challenge 16384, 24 layers": ("graph-challenge", "--neurons", 16384, "--layers", 24),
    "random, 8 layers": (
        "random", "--sizes", "784,3000,2500,4000,2000,3500,1500,2500,10", "--degree", 24,
        "--activation", "relu",
    ),
    "power law, 6 layers": (
        "random", "--kind", "powerlaw", "--sizes", "4096,4096,4096,4096,4096,4096,4096",
        "--degree", 16, "--activation", "relu",
    ),
    "block, 10 layers, tanh": (
        "random", "--kind", "block", "--sizes", ",".join(["2048"] * 11), "--degree", 32,
        "--activation", "tanh",
    ),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, nargs="+", default=[256, 16])
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    rates = args.work / "machine.json"
    run("-m", "hpc", "machine", "--out", rates, ranks=RANKS)
    print(f"{RANKS} ranks; {machine()}")
    found: dict[str, Any] = {}
    rows = []
    for name, make in NETWORKS.items():
        stem = name.replace(" ", "-").replace(",", "")
        network, plan = args.work / f"{stem}.h5", args.work / f"{stem}-plan.h5"
        run("-m", "datasets", *make, "--out", network)
        run("-m", "partition", "build", network, "--parts", RANKS, "--out", plan)
        for batch in args.batch:
            got = compared(args, network, plan, rates, batch)
            found[f"{name}, batch {batch}"] = got
            cells = [cell for kind in ("inference", "training") for cell in cells_of(got[kind])]
            rows.append([name, batch, *cells])
    head = ["network", "batch", *["predicted ms", "forward ms", "of it"],
            *["predicted ms", "step ms", "of it"]]  # fmt: skip
    print(table(head, rows))
    keep("partition_predict", found)


def compared(
    args: argparse.Namespace, network: Path, plan: Path, rates: Path, batch: int
) -> dict[str, Any]:
    """Return seconds, predicted and measured, by kind."""
    scratch = args.work / "predict.json"
    measured = {
        way: figures(
            scratch, "benchmarks/on_ranks.py", network, "--plan", plan, "--batch", batch,
            "--repeats", args.repeats, "--only", way, ranks=RANKS,
        )[f"{way}_s"]
        for way in ("forward", "step")
    }  # fmt: skip
    ask = ("-m", "partition", "predict", plan, "--machine", rates, "--batch", batch)
    predicted = {
        kind: figures(scratch, *ask, *option)["batch_s"][0]
        for kind, option in (("inference", ()), ("training", ("--training",)))
    }
    return {
        "inference": (predicted["inference"], measured["forward"]),
        "training": (predicted["training"], measured["step"]),
    }


def cells_of(pair: tuple[float, float]) -> list[str]:
    predicted, measured = pair
    return [f"{1e3 * predicted:.2f}", f"{1e3 * measured:.2f}", f"{predicted / measured:.2f}"]


if __name__ == "__main__":
    main()
