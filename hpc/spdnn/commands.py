"""The command line of the sparse engine: options only; what they do is imported when run."""

from __future__ import annotations

import argparse
from typing import Any

from hpc.cli.shared_options import add_json, add_quiet
from hpc.cli.words import Words
from hpc.comm.option_values import DEVICES
from hpc.io.errors import run_tool
from hpc.report.checkpoint_options import add_checkpoint
from hpc.report.failure_option import add_on_failure
from hpc.report.options import add_common
from hpc.report.stall_option import add_stall
from hpc.spdnn.option_values import EXPORTS, GRADIENTS, LOSSES, OPTIMIZERS, kernels

INFER = (
    "mpirun -n 2 python -m hpc spdnn infer net.h5 hpc/samples/challenge-1024.h5 "
    "--plan plan.h5 --out categories.tsv"
)
"""The example."""


def add_parser(engines: Any) -> None:
    """Add `spdnn infer`, `train` and `export`, and `machine`, to the engines' subparsers.

    Parameters
    ----------
    engines : argparse's subparsers
        Their `add_parser` takes `examples`, see `hpc.cli.parser`.
    """
    engine = engines.add_parser(
        "spdnn", help="sparse networks: inference and training", examples=[INFER]
    )
    commands = engine.add_subparsers(metavar="COMMAND", required=True)
    _infer(commands)
    _train(commands)
    _export(commands)
    _machine(engines)


def _infer(commands: Any) -> None:
    parser = commands.add_parser(
        "infer",
        help="run inputs through a network",
        examples=[INFER],
    )
    _files(parser)
    parser.add_argument(
        "--batch", type=int, default=256, metavar="B", help="inputs at a time (default 256)"
    )
    parser.add_argument(
        "--out", metavar="FILE.tsv", help="categories, one 1-based image number a line"
    )
    parser.add_argument(
        "--scores",
        action="store_true",
        help="write to --out the last level instead: image number, then its values",
    )
    parser.add_argument(
        "--categories",
        metavar="FILE.tsv",
        help="compare with these categories ('kept': those stored with the inputs); "
        "exit code 1 if they differ",
    )
    parser.add_argument(
        "--no-merge",
        action="store_true",
        help="compute every column, also those that are equal on all ranks",
    )
    parser.add_argument(
        "--waves",
        type=int,
        metavar="W",
        help="panels of a batch in W waves: one is computed while another's messages move "
        "(default 2 where a layer is work enough, else 1)",
    )
    add_stall(parser)
    add_common(parser)
    parser.set_defaults(run=_run_infer)


def _train(commands: Any) -> None:
    parser = commands.add_parser(
        "train",
        help="train a network",
        examples=[
            "mpirun -n 2 python -m hpc spdnn train random.h5 hpc/samples/digits.h5 --epochs 2 "
            "--lr 0.002 --optimizer adam --validation 0.2 --out trained.h5 --run run1",
            "mpirun -n 2 python -m hpc spdnn train --config run1/config.toml --run run2",
        ],
    )
    _files(parser)
    parser.add_argument("--epochs", type=int, default=10, metavar="E", help="(default 10)")
    parser.add_argument(
        "--batch", type=int, default=64, metavar="B", help="inputs a step (default 64)"
    )
    parser.add_argument("--lr", type=float, default=0.01, help="learning rate (default 0.01)")
    parser.add_argument(
        "--loss", type=Words(LOSSES), default="cross-entropy", help="mse or cross-entropy (default)"
    )
    parser.add_argument(
        "--optimizer", type=Words(OPTIMIZERS), default="sgd", help="sgd (default), momentum or adam"
    )
    parser.add_argument(
        "--gradient",
        type=Words(GRADIENTS),
        default="exact",
        help="exact (default), or averaged: the paper's, one averaged vector is propagated back",
    )
    parser.add_argument(
        "--validation", type=float, default=0.0, help="share of the inputs held out (default 0)"
    )
    parser.add_argument("--test", metavar="FILE.h5", help="evaluate on these inputs at the end")
    parser.add_argument("--out", metavar="FILE.h5", help="the trained network")
    add_checkpoint(parser)
    add_on_failure(parser, _fewer)
    parser.add_argument(
        "--spare-plan",
        action="append",
        default=[],
        metavar="FILE.h5",
        help="plan for the ranks that are left when others have died; may be given for several "
        "numbers of them (default blocks of rows)",
    )
    add_stall(parser)
    add_common(parser)
    parser.set_defaults(run=_run_train)


def _export(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write a network for torch, scipy or the Graph Challenge's programs (needs no MPI)",
        examples=["python -m hpc spdnn export trained.h5 --to trained.pt"],
    )
    parser.add_argument("network", help="network file")
    parser.add_argument(
        "--to",
        required=True,
        metavar="FILE",
        help="FILE.pt: torch, a state dict of sparse CSR tensors; FILE.npz: arrays of CSR "
        "matrices; a folder: the Graph Challenge's TSV files",
    )
    parser.add_argument(
        "--format",
        type=Words(EXPORTS),
        metavar="NAME",
        help="torch, npz, tsv, or scipy: a folder of files for scipy.sparse.load_npz "
        "(default by the suffix)",
    )
    add_json(parser)
    add_quiet(parser)
    parser.set_defaults(run_alone=_run_export)


def _files(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("network", help="network file, or a sharded one")
    parser.add_argument("inputs", help="samples file")
    parser.add_argument(
        "--plan",
        metavar="FILE.h5",
        help="plan for as many ranks as a replica has (default blocks of rows)",
    )
    parser.add_argument("--dtype", choices=("float32", "float64"), help="default: the network's")
    parser.add_argument(
        "--kernel",
        type=Words(kernels),
        default="auto",
        help="local multiply: numba, scipy, torch, or auto: the first of them there is, and "
        "torch on a GPU",
    )
    parser.add_argument(
        "--device",
        type=Words(DEVICES),
        default="cpu",
        help="cpu (default), cuda (kernel torch: cuSPARSE), or auto: cuda where every rank has one",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        metavar="T",
        help="threads of each rank that share a product (kernel numba; default 1)",
    )
    parser.add_argument(
        "--replicas",
        type=int,
        default=1,
        metavar="R",
        help="split the ranks into R groups that each hold the whole network and share the "
        "inputs, or each minibatch (default 1)",
    )


def _run_infer(args: argparse.Namespace, comm: Any) -> int:
    from hpc.spdnn.infer_command import run

    return run(args, comm)


def _fewer(args: argparse.Namespace, ranks: int) -> argparse.Namespace:
    from hpc.spdnn.fewer_ranks import fewer

    return fewer(args, ranks)


def _run_train(args: argparse.Namespace, comm: Any) -> int:
    from hpc.spdnn.train_command import run

    return run(args, comm)


def _run_export(args: argparse.Namespace) -> int:
    from hpc.spdnn.export_command import run

    return run_tool("hpc", lambda _: run(args))


def _machine(engines: Any) -> None:
    parser = engines.add_parser(
        "machine",
        help="measure this machine for 'python -m partition predict'",
        examples=["mpirun -n 2 python -m hpc machine --quick --out machine.json"],
    )
    parser.add_argument("--out", required=True, metavar="FILE.json", help="machine file to write")
    parser.add_argument(
        "--kernel", type=Words(kernels), default="auto", help="local multiply (default auto)"
    )
    parser.add_argument("--quick", action="store_true", help="time each case once: rougher")
    add_json(parser, "what was measured with what")
    add_quiet(parser)
    parser.set_defaults(run=_run_machine)


def _run_machine(args: argparse.Namespace, comm: Any) -> int:
    from hpc.spdnn.machine_command import run

    return run(args, comm)
