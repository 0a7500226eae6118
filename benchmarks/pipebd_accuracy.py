"""Real images: accuracy and time of a compressed VGG, distilled under DP and under the relay.

python -m datasets imagefolder --source ../shared/data/cifar10 --side 32 --out cifar.h5
python benchmarks/pipebd_accuracy.py --data cifar.h5

The paper's Table II in small: a VGG-16 narrowed by --width is trained, compressed block by block
(same seed, same batches) under each schedule, and its student fine-tuned. The accuracies are of
the test images; seconds are those of the distillation's steps, without validation.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from time import perf_counter
from typing import Any

from running import figures, keep, machine

from hpc.report.figures import table

PIPEBD = ("-m", "hpc", "pipebd")
WORKLOAD = "vgg16-dsconv"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="CIFAR-10 as an images file")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--width", type=float, default=0.125)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--teacher-epochs", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=1, help="of distillation")
    parser.add_argument("--finetune-epochs", type=int, default=1)
    parser.add_argument("--finetune-lr", type=float, default=0.01)
    parser.add_argument("--schedules", nargs="+", default=["dp", "ahd"])
    parser.add_argument("--work", type=Path, default=Path("/tmp/relaycut-bench"))
    args = parser.parse_args()
    args.work.mkdir(exist_ok=True)
    began = perf_counter()
    print(f"{WORKLOAD}, width {args.width:g}, batch {args.batch}, {args.ranks} ranks; {machine()}")
    teacher = train_teacher(args)
    print(f"teacher    {100 * teacher['accuracy']:.2f} %, {teacher['seconds']:.0f} s", flush=True)
    found = {name: compress(args, name) for name in args.schedules}
    print(shown(found))
    print(f"all in {perf_counter() - began:.0f} s")
    settings = {k: v for k, v in vars(args).items() if k not in ("work", "data")}
    keep("pipebd_accuracy", {"settings": settings, "teacher": teacher, "students": found})


def command(args: argparse.Namespace, *words: object) -> dict[str, Any]:
    """Run a command of pipebd on the ranks and return its figures."""
    common = ("--data", args.data, "--batch", args.batch, "--quiet")
    return figures(args.work / "accuracy.json", *PIPEBD, *words, *common, ranks=args.ranks)


def train_teacher(args: argparse.Namespace) -> dict[str, Any]:
    return command(
        args, "teacher", WORKLOAD, "--width", args.width, "--epochs", args.teacher_epochs,
        "--out", args.work / "teacher.pt",
    )  # fmt: skip


def compress(args: argparse.Namespace, schedule: str) -> dict[str, Any]:
    """Return accuracies and seconds of a student under one schedule."""
    student = args.work / f"student-{schedule}.pt"
    distilled = command(
        args, "train", WORKLOAD, "--width", args.width, "--teacher", args.work / "teacher.pt",
        "--schedule", schedule, "--epochs", args.epochs, "--out", student,
    )  # fmt: skip
    tuned = command(
        args, "finetune", student, "--epochs", args.finetune_epochs, "--lr", args.finetune_lr
    )
    return {
        "schedule": distilled["schedule"],
        "seconds": distilled["seconds"],
        "images_per_s": distilled["images_per_s"],
        "accuracy": distilled["accuracy"],
        "tuned_accuracy": tuned["accuracy"],
        "tuning_seconds": tuned["seconds"],
    }


def shown(found: dict[str, dict[str, Any]]) -> str:
    rows = [
        [
            f"{name} {run['schedule'] if '@' in run['schedule'] else ''}",
            f"{100 * run['accuracy']:.2f} %",
            f"{100 * run['tuned_accuracy']:.2f} %",
            f"{run['seconds']:.0f}",
            f"{run['images_per_s']:.0f}",
            f"{run['tuning_seconds']:.0f}",
        ]
        for name, run in found.items()
    ]
    head = ["", "distilled", "fine-tuned", "distilling s", "images/s", "tuning s"]
    return table(head, rows)


if __name__ == "__main__":
    main()
