"""Emulated on ranks that sleep: every schedule of the paper, measured against predicted.

python benchmarks/pipebd_emulate.py [--ranks 4] [--steps 200] [--profiles P.json ...]

Asked for: AHD <= TR+DPU <= TR <= DP; each within 5 % of what is predicted; AHD within 3 % of the
slowest group's teachers and students alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
from itertools import pairwise
from pathlib import Path
from typing import Any

from running import ROOT, figures, keep, machine

from hpc.report.figures import table

ORDERED = ("ahd", "tr+dpu", "tr", "dp")
OTHERS = ("ir", "ls")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    shipped = sorted((ROOT / "tests" / "pipebd" / "profiles").glob("*.json"))
    parser.add_argument("--profiles", type=Path, nargs="+", default=shipped)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=3, help="the median counts")
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    print(f"{args.ranks} ranks that sleep, {args.steps} steps; {machine()}")
    results: dict[str, Any] = {"ranks": args.ranks, "steps": args.steps, "load": os.getloadavg()}
    for profile in args.profiles:
        found = {name: emulated(args, profile, name) for name in (*ORDERED, *OTHERS)}
        print(f"\n{profile.stem}\n{shown(found)}")
        results[profile.stem] = found | {"holds": holds(found)}
        for claim, true in holds(found).items():
            print(f"{'holds' if true else 'FAILS'}  {claim}")
    keep("pipebd_emulate", results)


def emulated(args: argparse.Namespace, profile: Path, schedule: str) -> dict[str, Any]:
    """Return the figures of the run of median step time."""
    command = ("-m", "hpc", "pipebd", "train", "--emulate", profile, "--schedule", schedule)
    runs = [
        figures(args.work / "emulated.json", *command, "--steps", args.steps, ranks=args.ranks)
        for _ in range(args.repeats)
    ]
    middle = statistics.median_low(run["step_s"] for run in runs)
    return next(run for run in runs if run["step_s"] == middle)


def off(run: dict[str, Any], reference_s: float) -> float:
    """Return by which part a run takes longer than something."""
    return float(run["step_s"] / reference_s - 1)


def shown(found: dict[str, dict[str, Any]]) -> str:
    base = found["dp"]["step_s"]
    rows = [
        [
            f"{name:7} {run['schedule'] if '@' in run['schedule'] else ''}",
            f"{1e3 * run['predicted_step_s']:.2f}",
            f"{1e3 * run['step_s']:.2f}",
            f"{100 * off(run, run['predicted_step_s']):+.1f} %",
            f"{100 * off(run, run['compute_s']):+.1f} %" if run["compute_s"] else "",
            f"{base / run['step_s']:.2f}x",
            " ".join(f"{100 * idle:.0f}" for idle in run["idle"]),
        ]
        for name, run in found.items()
    ]
    head = ["schedule", "predicted ms", "measured ms", "off", "over compute", "over dp", "idle %"]
    return table(head, rows)


def holds(found: dict[str, dict[str, Any]]) -> dict[str, bool]:
    """Return what is asked for and whether it is so; equal predictions may differ by 1 %."""
    ordered = [found[name] for name in ORDERED]
    near = {name: off(found[name], found[name]["predicted_step_s"]) for name in ORDERED}
    ahd = found["ahd"]
    return {
        " <= ".join(ORDERED): all(a["step_s"] <= 1.01 * b["step_s"] for a, b in pairwise(ordered)),
        **{f"{name} within 5 % of predicted": abs(part) <= 0.05 for name, part in near.items()},
        "ahd within 3 % of its compute time": off(ahd, ahd["compute_s"]) <= 0.03,
    }


if __name__ == "__main__":
    main()
