"""What the commands that train on labels share: epochs told, summary, figures."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from time import perf_counter

from torch import nn

from hpc.cli.config import with_config
from hpc.comm.world import together
from hpc.pipebd.checkpoint_run import Keeping
from hpc.pipebd.checkpoint_state import digest_of
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.session import Session, command_of, kept_record
from hpc.pipebd.supervised import SupervisedEpoch, train_on_labels
from hpc.pipebd.training_data import Images
from hpc.report.checkpoint_options import checkpoint_options
from hpc.report.figures import quantity, write_json
from hpc.report.meter import DONE_BEFORE
from hpc.report.record import Record


def run_supervised(
    args: argparse.Namespace,
    here: Session,
    model: nn.Module,
    images: Images,
    settings: SgdSettings,
    smoothing: float = 0.0,
) -> None:
    """Train `model` in place and report. Collective.

    Parameters
    ----------
    args : argparse.Namespace
        Epochs, batch, checkpoints and what to write.
    here : Session
        Ranks, device, transport.
    model : nn.Module
        Equal on all ranks, before and after.
    images : Images
        To train and to validate on.
    settings : SgdSettings
        Of the optimizer.
    smoothing : float
        Of the labels, in [0, 1].

    Raises
    ------
    AgreedError, Stopped : see `supervised.train_on_labels`.
    InputError : on the first rank alone: the figures cannot be written any more.
    """
    with together(here.comm):
        keeping = _keeping(args, model, images, settings, smoothing, here.first)
    began = perf_counter()
    steps = args.epochs * images.steps
    with kept_record(args, here.comm) as record:
        with record.watch(args.what, steps, "images", args.batch) as moved:

            def advance(done: int, note: str) -> None:
                nonlocal steps
                steps -= done if note == DONE_BEFORE else 0
                moved(done, note)

            history = train_on_labels(
                here.comm,
                here.transport,
                model,
                images,
                args.epochs,
                settings,
                here.device,
                smoothing=smoothing,
                keeping=keeping,
                tell=partial(_tell, record) if here.first else lambda epoch: None,
                advance=advance,
                gauges=record.gauges,
            )
        if here.first:
            _report(args, here, record, history, steps, perf_counter() - began)


def _report(
    args: argparse.Namespace,
    here: Session,
    record: Record,
    history: Sequence[SupervisedEpoch],
    steps: int,
    seconds: float,
) -> None:
    rate = steps * args.batch / seconds
    print(
        f"trained    {steps} steps on {here.comm.size} rank(s), {seconds:.3f} s, "
        f"{quantity(rate, 'images/s')}"
    )
    figures = {
        "command": command_of(args),
        "ranks": here.comm.size,
        "device": here.device.type,
        "batch": args.batch,
        "steps": steps,
        "seconds": seconds,
        "images_per_s": rate,
        "history": [asdict(epoch) for epoch in history],
        "accuracy": history[-1].accuracy,
    }
    figures = with_config(args, figures)
    record.figures(figures)
    if args.json:
        write_json(args.json, figures)


def _keeping(
    args: argparse.Namespace,
    model: nn.Module,
    images: Images,
    settings: SgdSettings,
    smoothing: float,
    first: bool,
) -> Keeping | None:
    """Return what is asked of checkpoints; only the first rank need know what the run is."""
    options = checkpoint_options(args)
    if options is None:
        return None
    described = {
        "command": command_of(args),
        "weights at the start": digest_of([model]) if first else "",
        "images": images.digest(),
        "batch": args.batch,
        "epochs": args.epochs,
        "seed": args.seed,
        "dtype": args.dtype,
        "smoothing": smoothing,
        **asdict(settings),
    }
    return Keeping(options, described)


def _tell(record: Record, epoch: SupervisedEpoch) -> None:
    record.epoch(epoch.epoch + 1, loss=epoch.loss, accuracy=epoch.accuracy)
    held_out = "" if epoch.accuracy is None else f"  accuracy {100 * epoch.accuracy:5.2f} %"
    print(f"epoch {epoch.epoch + 1:3d}  loss {epoch.loss:.4f}{held_out}", flush=True)
