"""What a training tells: epochs while it runs, at its end a summary, figures and files."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import torch

from hpc.cli.config import with_config
from hpc.pipebd.assembling import assembled
from hpc.pipebd.distillation import Distilled, EpochReport
from hpc.pipebd.nas import write_architecture
from hpc.pipebd.outlook import Plan, shown
from hpc.pipebd.preparation import Prepared
from hpc.pipebd.recorder import Tally
from hpc.pipebd.relayed import relayed_figures
from hpc.pipebd.session import Session
from hpc.pipebd.student_file import write_student
from hpc.pipebd.tracing import gather_kinds, gather_trace
from hpc.report.figures import quantity, write_json
from hpc.report.predicted import predicted_table
from hpc.report.record import Record
from hpc.report.run_folder import TRAFFIC
from hpc.report.trace import SpanLog, write_trace


def tell_epoch(record: Record, epoch: EpochReport) -> None:
    """Print an epoch's losses and accuracies, and keep them.

    Parameters
    ----------
    record : Record
        Of this rank: empty but on the first, see `report.record.recorded`.
    epoch : EpochReport
        Of a relay, or of one block of a baseline.
    """
    number = epoch.epoch + 1
    if epoch.block is not None:
        loss = float(epoch.losses[epoch.block])
        record.event("block epoch", epoch=number, block=epoch.block, loss=loss)
        print(f"block {epoch.block:2d}  epoch {epoch.epoch + 1:3d}  loss {loss:.4g}", flush=True)
        return
    losses = " ".join(f"{loss:.3g}" for loss in epoch.losses)
    found = epoch.validation
    held_out = ""
    if found is not None and found.accuracy is not None:
        held_out = (
            f"  student {100 * found.accuracy:5.2f} %"
            f"  teacher {100 * (found.teacher_accuracy or 0):5.2f} %"
        )
    print(f"epoch {number:3d}  losses {losses}{held_out}", flush=True)
    record.epoch(
        number,
        losses=epoch.losses.tolist(),
        validation_losses=None if found is None else list(found.losses),
        accuracy=None if found is None else found.accuracy,
        teacher_accuracy=None if found is None else found.teacher_accuracy,
    )


def report(
    args: argparse.Namespace,
    here: Session,
    prepared: Prepared,
    plan: Plan,
    found: Distilled,
    log: SpanLog,
    tally: Tally,
    record: Record,
) -> None:
    """Print the summary and write what was asked for. Collective.

    Parameters
    ----------
    args : argparse.Namespace
        Which files to write, and the batch.
    here : Session
        Ranks, device, transport.
    prepared : Prepared
        What was trained.
    plan : Plan
        What was run, and predicted of it.
    found : Distilled
        What came of it; students on the first rank, which alone prints and writes.
    log : SpanLog
        This rank's spans, where a trace or a folder was asked for.
    tally : Tally
        This rank's seconds by kind of span.
    record : Record
        Of this rank.

    Raises
    ------
    InputError : on the first rank alone: a file cannot be written any more.
    """
    figures = _figures(args, here, prepared, plan, found)
    figures["kinds_s"] = gather_kinds(here.comm, tally)
    if args.trace or args.run_folder:
        trace = gather_trace(here.comm, log, figures)
        if trace is not None:
            record.trace(trace)
            if args.trace:
                write_trace(args.trace, trace)
    if found.students is None:
        return
    figures |= _save(args, prepared, found.students)
    _say(figures, plan, found)
    figures = with_config(args, figures)
    record.figures(figures)
    program = prepared.program
    if plan.choice.schedule is not None:
        sent = relayed_figures(plan.choice.schedule, here.comm.size, args.batch, program.boundary)
        record.put(TRAFFIC, sent)
    if args.json:
        write_json(args.json, figures)


def _figures(
    args: argparse.Namespace, here: Session, prepared: Prepared, plan: Plan, found: Distilled
) -> dict[str, Any]:
    times, history, final, predicted = found.times, found.history, found.final, plan.prediction
    validated = prepared.program.images.n_validation > 0
    return {
        "command": "pipebd train",
        "workload": prepared.recipe.label,
        "schedule": shown(plan) if plan.choice.schedule is None else str(plan.choice.schedule),
        "asked": args.schedule,
        "barrier": plan.choice.barrier,
        "ranks": here.comm.size,
        "device": here.device.type,
        "transport": here.transport.name,
        "batch": args.batch,
        "steps": times.steps,
        "rounds_before": times.done_before,
        "seconds": times.seconds,
        "step_s": times.step_s,
        "images_per_s": args.batch / times.step_s,
        "idle": list(times.idle),
        "predicted_step_s": predicted.step_s if predicted else None,
        "predicted_idle": list(predicted.idle) if predicted else None,
        "losses": history.losses.tolist(),
        "validation_losses": history.validation_losses.tolist() if validated else None,
        "epoch_accuracies": history.accuracies,
        "best_epochs": found.best_epochs,
        "accuracy": final.accuracy if final else None,
        "teacher_accuracy": final.teacher_accuracy if final else None,
    }


def _save(
    args: argparse.Namespace, prepared: Prepared, students: Sequence[dict[str, torch.Tensor]]
) -> dict[str, Any]:
    """Write student and architecture; return the architecture as a figure."""
    whole = assembled(prepared, students)
    if args.out:
        write_student(args.out, whole.recipe, whole.student)
    if whole.architecture is None:
        return {}
    if args.architecture_out:
        write_architecture(args.architecture_out, whole.architecture)
    return {"architecture": whole.architecture}


def _say(figures: dict[str, Any], plan: Plan, found: Distilled) -> None:
    if figures["accuracy"] is not None:
        print(
            f"kept       student {100 * figures['accuracy']:.2f} %, "
            f"teacher {100 * figures['teacher_accuracy']:.2f} %"
        )
    print(
        f"trained    {figures['steps']} steps on {figures['ranks']} rank(s), "
        f"{figures['seconds']:.3f} s, {1e3 * figures['step_s']:.2f} ms a step, "
        f"{quantity(figures['images_per_s'], 'images/s')}"
    )
    times, predicted = found.times, plan.prediction
    if predicted is not None:
        print(predicted_table((predicted.step_s, times.step_s), (predicted.idle, times.idle)))
    else:
        print("idle       " + ", ".join(f"{100 * idle:.1f} %" for idle in times.idle))
