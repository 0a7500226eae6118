"""`pipebd retrain`: the network that a search has found, trained from scratch."""

from __future__ import annotations

import argparse
from dataclasses import replace

from mpi4py import MPI

from hpc.comm.world import together
from hpc.io.errors import InputError
from hpc.pipebd.nas import read_architecture
from hpc.pipebd.optimizer import rated
from hpc.pipebd.preparation import check_images_fit
from hpc.pipebd.recipe import build_student
from hpc.pipebd.session import DTYPES, recipe_of, session
from hpc.pipebd.student_file import write_student
from hpc.pipebd.supervised_run import run_supervised
from hpc.pipebd.training_data import split_images


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
    AgreedError : on all ranks: options or files that cannot be used, a workload that is no search;
        a loss that is not finite.
    Stopped : on all ranks, where checkpoints are kept and a stop was asked for.
    InputError : on the first rank alone: the file cannot be written any more at the end.
    """
    with session(args, world) as here:
        with together(here.comm):
            recipe = recipe_of(args, here.file)
            built = recipe.built_in()
            if built.derived_of is None:
                raise InputError(f"{recipe.label} is not a search: nothing to retrain")
            check_images_fit(recipe, here.file)
            found = read_architecture(args.architecture, built.shape, recipe.width)
            recipe = replace(recipe, architecture=found)
            settings, model = rated(built.finish, args.lr), build_student(recipe)
            images = split_images(
                here.file, args.batch, args.seed, DTYPES[args.dtype], validation=args.validation
            )
        run_supervised(args, here, model, images, settings, built.smoothing)
        if args.out and here.first:
            write_student(args.out, recipe, model)
    return 0
