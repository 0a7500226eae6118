"""`pipebd evaluate`: the accuracy of a student, beside its teacher's."""

from __future__ import annotations

import argparse
from typing import Any

from mpi4py import MPI
from torch import nn

from hpc.cli.config import with_config
from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.pipebd.compress import conv_weights
from hpc.pipebd.mpi_reducer import reducer_of
from hpc.pipebd.preparation import check_images_fit, give_teacher
from hpc.pipebd.recipe import Recipe, build_network, whole_teacher
from hpc.pipebd.session import DTYPES, Session, check_classes, kept_record, session
from hpc.pipebd.student_file import read_student
from hpc.pipebd.supervised import shared_accuracy
from hpc.pipebd.training_data import split_images
from hpc.report.figures import write_json


def run(args: argparse.Namespace, world: MPI.Comm) -> int:
    """Run the command. Collective over `world`.

    Parameters
    ----------
    args : argparse.Namespace
        The options, the same on all ranks.
    world : MPI.Comm
        Of the job; duplicated.

    Returns
    -------
    int
        Exit code: 0.

    Raises
    ------
    AgreedError : on all ranks: options or files that cannot be used, no test images.
    InputError : on the first rank alone: the figures cannot be written any more at the end.
    """
    with session(args, world) as here:
        with together(here.comm):
            recipe, student = read_student(args.student, DTYPES[args.dtype])
            check_images_fit(recipe, here.file)
            check_classes(recipe, here.file)
            models = {"student": student} | _teacher(args.teacher, recipe)
            images = split_images(here.file, args.batch, args.seed, DTYPES[args.dtype])
            if not images.n_validation:
                raise InputError(f"{args.data}: has no test images")
        reducer = reducer_of(here.comm, here.transport)
        with kept_record(args, here.comm) as record:
            accuracies = {
                name: shared_accuracy(reducer, model.to(here.device), images, here.device)
                for name, model in models.items()
            }
            if here.first:
                record.figures(_report(args, here, models, accuracies, images.n_validation))
    return 0


def _teacher(path: str | None, recipe: Recipe) -> dict[str, nn.Module]:
    if path is None:
        return {}
    network = build_network(recipe)
    give_teacher(path, recipe, network)
    return {"teacher": whole_teacher([pair.teacher for pair in network.pairs], network.head)}


def _report(
    args: argparse.Namespace,
    here: Session,
    models: dict[str, nn.Module],
    accuracies: dict[str, float],
    n_images: int,
) -> dict[str, Any]:
    weights = {name: conv_weights(model) for name, model in models.items()}
    for name, accuracy in accuracies.items():
        print(
            f"{name:<8} {100 * accuracy:.2f} % of {n_images} test images, "
            f"{weights[name]:,} convolution weights"
        )
    figures = {"command": "pipebd evaluate", "ranks": here.comm.size, "images": n_images}
    figures |= {"accuracy": accuracies, "conv_weights": weights}
    figures = with_config(args, figures)
    if args.json:
        write_json(args.json, figures)
    return figures
