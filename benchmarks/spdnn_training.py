"""Training on all of MNIST: a 784-1024-1024-10 network of degree 32 on two ranks.

python benchmarks/spdnn_training.py --mnist ../shared/data/mnist [--work /tmp/relaycut-bench]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from running import figures, keep, machine, run

from hpc.report.figures import table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", required=True)
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    network, plan, train, test = (
        args.work / name for name in ("train-net.h5", "train-plan.h5", "train.h5", "test.h5")
    )
    for split, path in (("train", train), ("test", test)):
        run("-m", "datasets", "mnist", "--source", args.mnist, "--split", split, "--out", path)
    run(
        "-m", "datasets", "random", "--sizes", "784,1024,1024,10", "--degree", 32, "--kind", "er",
        "--activation", "relu,relu,identity", "--init", "scaled", "--out", network,
    )  # fmt: skip
    run("-m", "partition", "build", network, "--parts", 2, "--out", plan)
    found = figures(
        args.work / "training.json",
        "-m", "hpc", "spdnn", "train", network, train, "--plan", plan, "--epochs", args.epochs,
        "--batch", 128, "--lr", 0.002, "--optimizer", "adam", "--test", test, "--quiet",
        ranks=2,
    )  # fmt: skip
    print(f"784-1024-1024-10, {found['edges']:,} weights, batch 128, Adam, 2 ranks; {machine()}")
    rows = [
        [
            epoch["epoch"],
            f"{epoch['loss']:.4f}",
            f"{100 * epoch['accuracy']:.2f} %",
            f"{epoch['seconds']:.1f}",
        ]
        for epoch in found["history"]
    ]
    print(table(["epoch", "loss", "accuracy", "seconds"], rows))
    print(f"test accuracy {100 * found['test_accuracy']:.2f} %")
    keep("spdnn_training", {"training": found})


if __name__ == "__main__":
    main()
