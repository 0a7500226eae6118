"""Draw the loss and accuracy curves of a training run from its --json figures."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("figures", type=Path)
    parser.add_argument("--png", required=True)
    args = parser.parse_args()
    history = json.loads(args.figures.read_text())["history"]
    epochs = [epoch["epoch"] for epoch in history]
    picture, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
    for axis, what in ((left, "loss"), (right, "accuracy")):
        axis.plot(epochs, [epoch[what] for epoch in history], label="training")
        axis.plot(epochs, [epoch[f"validation_{what}"] for epoch in history], label="validation")
        axis.set(xlabel="epoch", ylabel=what)
        axis.grid(alpha=0.3)
    left.legend(frameon=False)
    picture.savefig(args.png, dpi=120)
    print(f"{args.png}: loss {history[0]['loss']:.3f} → {history[-1]['loss']:.3f}")


if __name__ == "__main__":
    main()
