"""Peak memory and start-up of a rank, N = 16384, L = 120: P = 1 against P = 4.

python benchmarks/spdnn_memory.py --mnist ../shared/data/mnist [--work /tmp/relaycut-bench]
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
    parser.add_argument("--batch", type=int, default=256)
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    network, plan, sharded, images = (
        args.work / name for name in ("net16k.h5", "plan16k.h5", "sharded16k.h5", "x16k.h5")
    )
    prepare(args.mnist, network, plan, sharded, images)
    infer = ("-m", "hpc", "spdnn", "infer")
    batch = ("--batch", args.batch, "--quiet")
    out = args.work / "figures.json"
    runs = {}
    for kernel in ("scipy", "numba"):
        rest = (*batch, "--kernel", kernel)
        for name, options, ranks in (
            ("P = 1", (network, images), 1),
            ("P = 4, network + plan", (network, images, "--plan", plan), 4),
            ("P = 4, sharded", (sharded, images), 4),
        ):
            runs[f"{kernel}, {name}"] = figures(out, *infer, *options, *rest, ranks=ranks)
    alone = {k: max(runs[f"{k}, P = 1"]["peak_bytes"]) for k in ("scipy", "numba")}
    rows = [
        [
            name,
            f"{max(found['peak_bytes']) / 2**20:.0f}",
            f"{100 * max(found['peak_bytes']) / alone[name[:5]]:.1f} %",
            f"{max(found['start_s']):.2f}",
            f"{max(found['bytes_read']) / 1e6:.0f}",
        ]
        for name, found in runs.items()
    ]
    print(f"N = 16384, L = 120, batch {args.batch}; {machine()}")
    print(table(["", "peak MiB a rank", "of P = 1", "start s", "MB read a rank"], rows))
    keep("spdnn_memory", runs)


def prepare(mnist: str, network: Path, plan: Path, sharded: Path, images: Path) -> None:
    """Make what is not there yet."""
    make = ("-m", "datasets", "graph-challenge", "--neurons", 16384)
    if not network.exists():
        run(*make, "--layers", 120, "--out", network)
    if not images.exists():
        run(*make, "--images-from", mnist, "--first", 1024, "--out", images)
    if not plan.exists():
        run("-m", "partition", "build", network, "--parts", 4, "--out", plan)
    if not sharded.exists():
        run("-m", "partition", "shard", network, plan, "--out", sharded)


if __name__ == "__main__":
    main()
