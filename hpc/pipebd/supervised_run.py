"""What the commands that train on labels share: epochs told, summary, figures."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from time import perf_counter

from torch import nn

from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.session import Session
from hpc.pipebd.supervised import SupervisedEpoch, train_on_labels
from hpc.pipebd.training_data import Images
from hpc.report.figures import quantity, write_json
from hpc.report.progress import progress


def run_supervised(
    args: argparse.Namespace,
    here: Session,
    model: nn.Module,
    images: Images,
    settings: SgdSettings,
    smoothing: float = 0.0,
) -> None:
    """Train `model` in place and report. Collective.

    Raises
    ------
    AgreedError : see `supervised.train_on_labels`.
    """
    began = perf_counter()
    steps = args.epochs * images.steps
    with progress(args.what, steps, here.first and not args.quiet) as advance:
        history = train_on_labels(
            here.comm,
            here.transport,
            model,
            images,
            args.epochs,
            settings,
            here.device,
            smoothing=smoothing,
            tell=_tell if here.first else lambda epoch: None,
            advance=advance,
        )
    seconds = perf_counter() - began
    if not here.first:
        return
    rate = quantity(steps * args.batch / seconds, "images/s")
    print(f"trained    {steps} steps on {here.comm.size} rank(s), {seconds:.3f} s, {rate}")
    if args.json:
        figures = {
            "command": f"pipebd {args.what}",
            "ranks": here.comm.size,
            "device": here.device.type,
            "batch": args.batch,
            "steps": steps,
            "seconds": seconds,
            "images_per_s": steps * args.batch / seconds,
            "history": [asdict(epoch) for epoch in history],
            "accuracy": history[-1].accuracy,
        }
        write_json(args.json, figures)


def _tell(epoch: SupervisedEpoch) -> None:
    held_out = "" if epoch.accuracy is None else f"  accuracy {100 * epoch.accuracy:5.2f} %"
    print(f"epoch {epoch.epoch + 1:3d}  loss {epoch.loss:.4f}{held_out}", flush=True)
