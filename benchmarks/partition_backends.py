"""Which partitioner is the default: words and seconds of each, one layer at a time.

python benchmarks/partition_backends.py [--neurons 1024 4096 16384 65536]

The official network up to two layers beyond its first permutation. `kahypar` is KaHyPar's k-way
preset, refined by Mt-KaHyPar where a layer has few vertices; the others are Mt-KaHyPar's presets.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from partition_table import base_layers, built_plan, challenge
from running import keep, machine

from hpc.report.figures import table

PARTS = {1024: (8, 512), 4096: (64, 512), 16384: (64, 512), 65536: (512,)}
MT_PRESETS = ("deterministic", "default", "quality", "large-k")
BACKENDS = {"kahypar": ("--backend", "kahypar")} | {
    f"mtkahypar {preset}": ("--backend", "mtkahypar", "--preset", preset) for preset in MT_PRESETS
}
TOO_SLOW = {(65536, "mtkahypar large-k")}  # over 8 minutes for 14 layers


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--neurons", type=int, nargs="+", default=list(PARTS))
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    print(f"one layer at a time, words per input, seconds; {machine()}")
    found: dict[str, Any] = {}
    for neurons in args.neurons:
        network = challenge(args.work, neurons, base_layers(neurons) + 2)
        for parts in PARTS[neurons]:
            row = {
                name: built_plan(network, parts, "1", *options)
                for name, options in BACKENDS.items()
                if (neurons, name) not in TOO_SLOW
            }
            found[f"{neurons}, {parts}"] = row
            cells = [f"{one['volume_words']:,} / {one['cpu_s']:.1f} s" for one in row.values()]
            print(table(["N, P", *row], [[f"{neurons}, {parts}", *cells]]), flush=True)
    keep("partition_backends", found)


if __name__ == "__main__":
    main()
