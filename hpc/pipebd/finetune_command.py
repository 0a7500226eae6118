"""`pipebd finetune`: an assembled student in, the same with better weights out."""

from __future__ import annotations

import argparse

from mpi4py import MPI

from hpc.comm.world import together
from hpc.pipebd.optimizer import SgdSettings, rated
from hpc.pipebd.preparation import check_images_fit
from hpc.pipebd.session import DTYPES, check_classes, session
from hpc.pipebd.student_file import read_student, write_student
from hpc.pipebd.supervised_run import run_supervised
from hpc.pipebd.training_data import split_images

SETTINGS = SgdSettings(lr=1e-4, momentum=0.9)
"""The paper's rate."""


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
    AgreedError : on all ranks: options or files that cannot be used, images of other classes than
        the student's; a loss that is not finite.
    Stopped : on all ranks, where checkpoints are kept and a stop was asked for.
    InputError : on the first rank alone: the file cannot be written any more at the end.
    """
    with session(args, world) as here:
        with together(here.comm):
            settings = rated(SETTINGS, args.lr)
            recipe, model = read_student(args.student, DTYPES[args.dtype])
            check_images_fit(recipe, here.file)
            check_classes(recipe, here.file)
            images = split_images(
                here.file, args.batch, args.seed, DTYPES[args.dtype], validation=args.validation
            )
        run_supervised(args, here, model, images, settings)
        if args.out and here.first:
            write_student(args.out, recipe, model)
    return 0
