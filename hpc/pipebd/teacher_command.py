"""`pipebd teacher`: images with labels in, a teacher's weights out."""

from __future__ import annotations

import argparse

import torch
from mpi4py import MPI

from hpc.comm.world import together
from hpc.io.aside import written_aside
from hpc.pipebd.optimizer import SgdSettings, rated
from hpc.pipebd.preparation import check_images_fit
from hpc.pipebd.recipe import build_network, whole_teacher
from hpc.pipebd.session import DTYPES, recipe_of, session
from hpc.pipebd.supervised_run import run_supervised
from hpc.pipebd.teacher import teacher_state
from hpc.pipebd.training_data import split_images

SETTINGS = SgdSettings(0.05, momentum=0.9, nesterov=True, weight_decay=5e-4, schedule="cosine")


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
    AgreedError : on all ranks: options or files that cannot be used; a loss that is not finite.
    Stopped : on all ranks, where checkpoints are kept and a stop was asked for.
    InputError : on the first rank alone: the file cannot be written any more at the end.
    """
    with session(args, world) as here:
        with together(here.comm):
            settings = rated(SETTINGS, args.lr)
            recipe = recipe_of(args, here.file)
            network = build_network(recipe)
            check_images_fit(recipe, here.file)
            images = split_images(
                here.file, args.batch, args.seed, DTYPES[args.dtype], validation=args.validation
            )
        blocks = [pair.teacher for pair in network.pairs]
        run_supervised(args, here, whole_teacher(blocks, network.head), images, settings)
        if args.out and here.first:
            state = {k: v.cpu() for k, v in teacher_state([*blocks, network.head]).items()}
            with written_aside(args.out) as partial:
                torch.save(state, partial)
    return 0
