"""What looking for equal columns costs a network that has none: at most 2 % is what we want.

python benchmarks/spdnn_looks.py [--rounds 7] [--samples 20000]

Random networks whose columns never become equal or die, on random 0/1 inputs: inference with and
without `--no-merge`, in turn; medians of the ratio over the rounds.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
from running import figures, keep, machine, ratio, run

from hpc.io.samples import create_samples
from hpc.report.figures import table

NETWORKS = {
    "784-2048x8-10, degree 32": ",".join(["784", *["2048"] * 8, "10"]),
    "784-512x24-10, degree 32": ",".join(["784", *["512"] * 24, "10"]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--samples", type=int, default=20000)
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    print(f"{args.samples:,} inputs; {machine()}")
    inputs = args.work / "looks-inputs.h5"
    bits = np.random.default_rng(0).random((784, args.samples)) < 0.3
    with create_samples(inputs, args.samples, 784, "bits") as writer:
        writer.put_inputs(0, bits.astype(np.uint8))
    found: dict[str, Any] = {}
    rows = []
    for name, sizes in NETWORKS.items():
        network = args.work / "looks.h5"
        make = ("--sizes", sizes, "--degree", 32, "--activation", "tanh", "--init", "scaled")
        run("-m", "datasets", "random", *make, "--out", network)
        for ranks in (1, 2):
            seconds: dict[str, list[float]] = {"looking": [], "not": []}
            for _ in range(args.rounds):
                for way, options in (("looking", ()), ("not", ("--no-merge",))):
                    got = figures(
                        args.work / "looks.json", "-m", "hpc", "spdnn", "infer", network,
                        inputs, "--quiet", *options, ranks=ranks,
                    )  # fmt: skip
                    seconds[way].append(got["seconds"])
            found[f"{name}, {ranks}"] = seconds
            rows.append([name, ranks, f"{ratio(seconds, 'looking', 'not'):.3f}"])
    print(table(["network", "ranks", "looking / not"], rows))
    keep("spdnn_looks", found)


if __name__ == "__main__":
    main()
