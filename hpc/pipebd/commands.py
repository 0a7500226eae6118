"""The command line of Pipe-BD: options only; what they do is imported when run."""

from __future__ import annotations

import argparse
import importlib
from typing import Any

from hpc.cli.extras import extra
from hpc.cli.shared_options import add_json
from hpc.cli.words import Words
from hpc.comm.option_values import DEVICES, TRANSPORTS
from hpc.io.errors import run_tool
from hpc.pipebd import plan_cli, timeline_command
from hpc.pipebd.fewer_ranks import fewer
from hpc.pipebd.names import NAMES
from hpc.pipebd.option_values import EXPORTS, SHAPES, WORKLOADS
from hpc.report.checkpoint_options import add_checkpoint
from hpc.report.failure_option import add_on_failure
from hpc.report.options import add_common
from hpc.report.stall_option import add_stall

TEACHER = (
    "mpirun -n 2 python -m hpc pipebd teacher vgg16-dsconv --width 0.125 --data "
    "digits.h5 --epochs 1 --batch 50 --out teacher.pt"
)
"""The example of the first step."""


def add_parser(engines: Any) -> None:
    """Add the commands of `pipebd` to the engines' subparsers.

    Parameters
    ----------
    engines : argparse's subparsers
        Of `python -m hpc`.
    """
    engine = engines.add_parser(
        "pipebd", help="blockwise distillation: compression and search", examples=[TEACHER]
    )
    commands = engine.add_subparsers(metavar="COMMAND", required=True)
    for add in (_teacher, _profile, _train, _finetune, _retrain, _evaluate, _export):
        add(commands)
    plan_cli.add_parser(commands)
    timeline_command.add_parser(commands)


def _teacher(commands: Any) -> None:
    parser = commands.add_parser(
        "teacher",
        help="train a teacher on labels, data-parallel",
        examples=[TEACHER],
    )
    _workload(parser)
    _training(parser, epochs=10, lr="0.05")
    parser.add_argument("--out", metavar="FILE.pt", help="weights, under torchvision's names")
    add_checkpoint(parser)
    add_on_failure(parser)
    _runs(parser, "teacher")


def _profile(commands: Any) -> None:
    parser = commands.add_parser(
        "profile",
        help="measure blocks, all-reduces and relays on these ranks",
        examples=[
            "mpirun -n 2 python -m hpc pipebd profile vgg16-dsconv --width 0.125 --data "
            "digits.h5 --batch 50 --steps 5 --out profile.json",
        ],
    )
    _workload(parser, own_blocks=True)
    _data(parser)
    parser.add_argument("--steps", type=int, default=100, help="of each measurement (default 100)")
    parser.add_argument("--out", metavar="FILE.json", required=True, help="the profile")
    _runs(parser, "profile")


def _train(commands: Any) -> None:
    parser = commands.add_parser(
        "train",
        help="distill a teacher into students, block by block",
        examples=[
            "mpirun -n 2 python -m hpc pipebd train vgg16-dsconv --width 0.125 --data digits.h5 "
            "--batch 50 --teacher teacher.pt --profile profile.json --schedule ahd --epochs 1 "
            "--trace trace.json --out student.pt",
            "mpirun -n 2 python -m hpc pipebd train mobilenetv2-proxyless --width 0.25 --data "
            "digits.h5 --batch 50 --schedule tr+dpu --steps 4 --architecture-out found.json",
        ],
    )
    _workload(parser, own_blocks=True)
    _training(parser, epochs=10, lr="the workload's", data_needed=False)
    _schedule(parser)
    _search(parser)
    parser.add_argument("--teacher", metavar="FILE.pt", help="weights (default random ones)")
    parser.add_argument("--out", metavar="FILE.pt", help="the assembled student")
    parser.add_argument("--trace", metavar="FILE.json", help="what every rank did when")
    parser.add_argument(
        "--emulate", metavar="FILE.json", help="sleep for a profile's times instead of computing"
    )
    add_stall(parser)
    add_checkpoint(parser)
    add_on_failure(parser, fewer)
    _runs(parser, "train")


def _finetune(commands: Any) -> None:
    parser = commands.add_parser(
        "finetune",
        help="train an assembled student on labels, data-parallel",
        examples=[
            "mpirun -n 2 python -m hpc pipebd finetune student.pt --data digits.h5 --batch 50 "
            "--epochs 1 --lr 0.01 --out tuned.pt",
        ],
    )
    parser.add_argument("student", help="from `pipebd train --out`")
    _training(parser, epochs=5, lr="1e-4")
    parser.add_argument("--out", metavar="FILE.pt", help="the tuned student")
    add_checkpoint(parser)
    add_on_failure(parser)
    _runs(parser, "finetune")


def _retrain(commands: Any) -> None:
    parser = commands.add_parser(
        "retrain",
        help="train the network that a search has found from scratch, data-parallel",
        examples=[
            "mpirun -n 2 python -m hpc pipebd retrain mobilenetv2-proxyless --width 0.25 "
            "--architecture found.json --data digits.h5 --batch 50 --epochs 1 --out found.pt",
        ],
    )
    _workload(parser)
    parser.add_argument(
        "--architecture", required=True, metavar="FILE.json", help="from `train --architecture-out`"
    )
    _training(parser, epochs=100, lr="the workload's")
    parser.add_argument("--out", metavar="FILE.pt", help="the trained network")
    add_checkpoint(parser)
    add_on_failure(parser)
    _runs(parser, "retrain")


def _evaluate(commands: Any) -> None:
    parser = commands.add_parser(
        "evaluate",
        help="the accuracy of a student on the test images, beside its teacher's",
        examples=[
            "python -m hpc pipebd evaluate tuned.pt --data digits.h5 --teacher teacher.pt",
        ],
    )
    parser.add_argument("student", help="from `train`, `finetune` or `retrain`")
    _data(parser)
    parser.add_argument("--teacher", metavar="FILE.pt", help="weights of its teacher")
    _runs(parser, "evaluate")


def _export(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write a student for plain torch (needs no MPI)",
        examples=[
            "python -m hpc pipebd export tuned.pt --to student.pt2",
        ],
    )
    parser.add_argument("student", help="from `train`, `finetune` or `retrain`")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FILE",
        help="FILE.pt: state dict; FILE.ts: TorchScript; FILE.pt2: program of torch.export",
    )
    parser.add_argument(
        "--format",
        type=Words(EXPORTS),
        metavar="NAME",
        help="state, torchscript or export (default by the suffix)",
    )
    parser.add_argument(
        "--input", metavar="CxHxW", help="shape of one input, to trace blocks of your own with"
    )
    add_json(parser)
    parser.set_defaults(run_alone=_run_export)


def _run_export(args: argparse.Namespace) -> int:
    def run(_: object) -> None:
        with extra("pipebd export", "pipebd"):
            command = importlib.import_module("hpc.pipebd.export_command")
        command.run(args)

    return run_tool("hpc", run)


def _workload(parser: argparse.ArgumentParser, own_blocks: bool = False) -> None:
    parser.add_argument(
        "workload",
        nargs="?" if own_blocks else None,
        type=Words(WORKLOADS),
        help="vgg16-dsconv or mobilenetv2-proxyless",
    )
    if own_blocks:
        parser.add_argument(
            "--blocks", metavar="MODULE:FUNCTION", help="your own: returns a list of BlockPair"
        )
    parser.add_argument(
        "--shape", type=Words(SHAPES), default="cifar", help="cifar (default) or imagenet"
    )
    parser.add_argument("--width", type=float, default=1.0, help="factor on all channels")
    parser.add_argument(
        "--no-batch-norm", action="store_true", help="a VGG teacher without (torchvision's vgg16)"
    )


def _training(
    parser: argparse.ArgumentParser, epochs: int, lr: str, data_needed: bool = True
) -> None:
    _data(parser, data_needed)
    parser.add_argument(
        "--epochs", type=int, default=epochs, metavar="E", help=f"(default {epochs})"
    )
    parser.add_argument("--lr", type=float, help=f"learning rate (default {lr})")
    parser.add_argument(
        "--validation",
        type=float,
        default=0.0,
        help="share of the training images held out to validate on (default the test images)",
    )


def _data(parser: argparse.ArgumentParser, needed: bool = True) -> None:
    parser.add_argument("--data", required=needed, metavar="FILE.h5", help="images file")
    parser.add_argument(
        "--batch", type=int, default=256, metavar="B", help="images a step (default 256)"
    )
    parser.add_argument("--dtype", choices=("float32", "float64"), default="float32")
    parser.add_argument(
        "--device", type=Words(DEVICES), default="auto", help="cpu, cuda or auto (default)"
    )
    parser.add_argument(
        "--transport",
        type=Words(("auto", *TRANSPORTS)),
        default="auto",
        help="auto (default), host, staged or cuda-aware",
    )
    parser.add_argument("--threads", type=int, default=1, help="of torch on each rank (default 1)")


def _schedule(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schedule",
        type=Words(NAMES),
        default="ahd",
        help="ahd (default searched), tr+dpu, tr, ir, dp, ls or groups '0-2@0-2 3-5@3'",
    )
    parser.add_argument("--profile", metavar="FILE.json", help="from `pipebd profile`")
    parser.add_argument(
        "--profile-steps", type=int, default=20, help="of each measurement, where none is given"
    )
    parser.add_argument("--queue", type=int, default=2, help="input buffers a rank (default 2)")
    parser.add_argument("--steps", type=int, help="stop after so many training steps")


def _search(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("architecture search")
    group.add_argument("--architecture-out", metavar="FILE.json", help="the architecture found")
    group.add_argument("--architecture-every", type=int, help="steps a round (default 5)")
    group.add_argument("--architecture-first", type=float, help="share of epochs before (0.25)")
    group.add_argument("--flops-weight", type=float, help="of the expected cost (default 0)")
    group.add_argument(
        "--architecture-share", type=float, help="share of images that train it (default 0.2)"
    )


def _runs(parser: argparse.ArgumentParser, what: str) -> None:
    """Let `hpc.pipebd.WHAT_command` run the command, which may be asked to stop."""
    add_common(parser)

    def run(args: argparse.Namespace, comm: Any) -> int:
        from hpc.comm.checkpointing import Stopped, say_stopped
        from hpc.comm.world import together

        with together(comm), extra(f"pipebd {what}", "pipebd"):
            command = importlib.import_module(f"hpc.pipebd.{what}_command")
        try:
            found: int = command.run(args, comm)
        except Stopped as stopped:
            return say_stopped(comm, stopped)
        return found

    parser.set_defaults(run=run, what=what)
