"""`make bench`: every comparison of the sparse engine with others, one after another, and a plot.

python benchmarks/all.py --mnist FOLDER [--rounds 5]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

from running import ROOT, WRITTEN

PARTS = (
    ("spdnn_speed.py", "--mnist", "MNIST", "--rounds", "ROUNDS"),
    ("spdnn_speed.py", "--mnist", "MNIST", "--rounds", "ROUNDS", "--layers", "1920",
     "--only", "inference", "--ours-only"),
    ("spdnn_speed.py", "--mnist", "MNIST", "--rounds", "1", "--layers", "1920",
     "--only", "inference", "--merged-only"),
    ("spdnn_speed.py", "--mnist", "MNIST", "--rounds", "1", "--neurons", "16384",
     "--images", "6000", "--only", "inference", "--merged-only"),
    ("spdnn_step.py", "--rounds", "ROUNDS"),
    ("spdnn_single.py",),
    ("spdnn_single.py", "--batch", "256"),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mnist", required=True)
    parser.add_argument("--rounds", default="5")
    args = parser.parse_args()
    values = {"MNIST": args.mnist, "ROUNDS": args.rounds}
    for script, *options in PARTS:
        words = [values.get(option, option) for option in options]
        print(f"\n== {script} {' '.join(words)}", flush=True)
        folder = Path(__file__).parent
        subprocess.run([sys.executable, folder / script, *words], cwd=ROOT, check=True)
    draw(WRITTEN)


def draw(folder: Path) -> None:
    """Draw the rates of whole inference, ours and others', on a log scale."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    found = json.loads((folder / "spdnn_speed_1024_120.json").read_text())["inference"]
    work = found["edges"] * found["images"] / 1e9
    rates = {
        name: work / sorted(times)[len(times) // 2] for name, times in found["seconds"].items()
    }
    figure, axes = pyplot.subplots(figsize=(7, 3), layout="constrained")
    axes.barh(list(rates), list(rates.values()))
    axes.set(xscale="log", xlabel="Gedges/s, N = 1024, L = 120")
    axes.invert_yaxis()
    figure.savefig(folder / "spdnn_speed.png", dpi=120)
    print(f"{folder / 'spdnn_speed.png'}")


if __name__ == "__main__":
    main()
