"""Real compute: the throughput of the relay beside that of DP, on as many ranks as cores.

python benchmarks/pipebd_throughput.py [--data images.h5] [--width 0.25] [--batch 64]

vgg16-dsconv in CIFAR shape, narrowed by --width so that a run takes seconds; schedules are run
in turns, and the median of their throughputs counts. Asked for: TR+DPU at least 3 times DP.
Without --data it makes the shipped digits as 32x32 colour images.
"""

from __future__ import annotations

import argparse
import statistics
from pathlib import Path
from typing import Any

from running import figures, keep, machine, run

from hpc.report.figures import table

WORKLOAD = "vgg16-dsconv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--width", type=float, default=0.25)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--steps", type=int, default=20, help="training steps of a run")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--schedules", nargs="+", default=["tr+dpu", "ahd", "dp", "ls"])
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    data = args.data or digits(args.work)
    profile = args.work / "throughput-profile.json"
    sizes = ("--width", args.width, "--batch", args.batch, "--data", data, "--quiet")
    command = ("-m", "hpc", "pipebd")
    run(*command, "profile", WORKLOAD, *sizes, "--steps", 10, "--out", profile, ranks=args.ranks)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in args.schedules}
    for _ in range(args.repeats):
        for name, found in runs.items():
            options = ("--schedule", name, "--profile", profile, "--steps", args.steps)
            out = args.work / "throughput.json"
            found.append(
                figures(
                    out, *command, "train", WORKLOAD, *sizes, *options, "--epochs", 100,
                    ranks=args.ranks,
                )
            )  # fmt: skip
    report(args, runs)


def digits(folder: Path) -> Path:
    """Make the images file of the shipped digits, if it is not there yet."""
    path = folder / "digits32.h5"
    if not path.exists():
        run("-m", "datasets", "digits", "--out", path)
    return path


def report(args: argparse.Namespace, runs: dict[str, list[dict[str, Any]]]) -> None:
    rates = {
        name: statistics.median(one["images_per_s"] for one in found)
        for name, found in runs.items()
    }
    base = rates.get("dp")
    rows = [
        [
            name,
            runs[name][0]["schedule"] if "@" in runs[name][0]["schedule"] else "",
            f"{rate:.1f}",
            " ".join(f"{one['images_per_s']:.0f}" for one in runs[name]),
            f"{rate / base:.2f}x" if base else "",
        ]
        for name, rate in rates.items()
    ]
    print(
        f"{WORKLOAD}, CIFAR shape, width {args.width:g}, batch {args.batch}, {args.ranks} ranks, "
        f"{args.steps} steps; {machine()}"
    )
    print(table(["", "schedule", "images/s", "each run", "over dp"], rows))
    settings = {k: v for k, v in vars(args).items() if k not in ("work", "data")}
    keep("pipebd_throughput", {"settings": settings, "images_per_s": rates, "runs": runs})


if __name__ == "__main__":
    main()
