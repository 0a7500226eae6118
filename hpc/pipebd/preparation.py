"""From options to a program: network, images and rounds, built and checked before any work."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from hpc.io.arguments import NUMBER, PATH, WHOLE, check_arguments, instance, or_none
from hpc.io.errors import InputError
from hpc.io.images import ImagesFile
from hpc.pipebd.blocks import check_pairs
from hpc.pipebd.nas import ArchitectureSettings
from hpc.pipebd.optimizer import rated
from hpc.pipebd.program import Boundary
from hpc.pipebd.recipe import Network, Recipe, build_network
from hpc.pipebd.rounds import run_rounds
from hpc.pipebd.teacher import load_teacher
from hpc.pipebd.training_data import split_images
from hpc.pipebd.training_program import TrainingProgram


@dataclass(frozen=True)
class TrainingOptions:
    """What a distillation is asked for.

    Attributes
    ----------
    batch : images of a step.
    epochs : passes over the training images.
    lr : learning rate; None for the workload's.
    validation : share of the training images held out to validate on; 0 for the test images.
    max_steps : ends the run after so many training steps; None for all.
    teacher : file of weights, under torchvision's names; None for those that there are.
    architecture : when and how a search trains its architecture.
    architecture_share : on which share of the training images it does, above 0 and below 1.
    """

    batch: int
    epochs: int = 1
    lr: float | None = None
    validation: float = 0.0
    max_steps: int | None = None
    teacher: str | None = None
    architecture: ArchitectureSettings = field(default_factory=ArchitectureSettings)
    architecture_share: float = 0.2

    def check(self) -> None:
        """Check types, and numbers that must be at least 1.

        Raises
        ------
        InputError : names the option, what came and what is expected.
        """
        check_arguments(OPTIONS, **vars(self))
        check_arguments(SEARCH, **vars(self.architecture))
        for name in ("batch", "epochs", "max_steps"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InputError(f"{name} {value}: expected at least 1")


OPTIONS = {
    **dict.fromkeys(("batch", "epochs"), WHOLE),
    **dict.fromkeys(("validation", "architecture_share"), NUMBER),
    "lr": or_none(NUMBER),
    "max_steps": or_none(WHOLE),
    "teacher": or_none(PATH),
    "architecture": instance(ArchitectureSettings, said="ArchitectureSettings"),
}
SEARCH = {**dict.fromkeys(("lr", "first", "flops_weight"), NUMBER), "every": WHOLE}


@dataclass(frozen=True)
class Prepared:
    """What was asked for, built and checked.

    Attributes
    ----------
    recipe : Recipe
        How the blocks were built.
    network : Network
        Teachers with their weights, students with fresh ones.
    program : TrainingProgram
        What is to be run.
    """

    recipe: Recipe
    network: Network
    program: TrainingProgram

    @property
    def architecture_every(self) -> int | None:
        """Training steps per architecture round, None without a search."""
        return self.program.architecture.every if self.network.searching else None


def prepare(
    recipe: Recipe,
    options: TrainingOptions,
    file: ImagesFile,
    device: torch.device,
    network: Network | None = None,
) -> Prepared:
    """Build and check everything. Local; the same on all ranks.

    Parameters
    ----------
    recipe : of teacher and students.
    options : of the training.
    file : the images.
    device : of this rank.
    network : the blocks, where they are there already.

    Returns
    -------
    What is to be trained.

    Raises
    ------
    InputError : whatever cannot be used: see the functions called here.
    """
    network = network or build_network(recipe)
    check_images_fit(recipe, file)
    give_teacher(options.teacher, recipe, network)
    _check_search(options, network)
    program = _program(recipe, options, network, file, device)
    return Prepared(recipe, network, program)


def _check_search(options: TrainingOptions, network: Network) -> None:
    architecture, share = options.architecture, options.architecture_share
    if architecture.every < 1 or not 0 <= architecture.first <= 1:
        raise InputError(
            f"--architecture-every {architecture.every}, --architecture-first "
            f"{architecture.first}: expected at least 1, and a share from 0 to 1"
        )
    if network.searching and not 0 < share < 1:
        raise InputError(
            f"--architecture-share {share:g}: a search needs training images of its own for its "
            "architecture; expected a share above 0 and below 1"
        )


def _program(
    recipe: Recipe,
    options: TrainingOptions,
    network: Network,
    file: ImagesFile,
    device: torch.device,
) -> TrainingProgram:
    shape, dtype = file.traits.shape, recipe.dtype
    images = split_images(
        file,
        options.batch,
        recipe.seed,
        dtype,
        validation=options.validation,
        architecture=options.architecture_share if network.searching else 0.0,
    )
    outputs = check_pairs(network.pairs, torch.zeros(2, *shape, dtype=dtype))
    due = options.architecture.due if network.searching else None
    return TrainingProgram(
        network.pairs,
        [Boundary(shape, dtype), *(Boundary(tuple(output[1:]), dtype) for output in outputs)],
        images,
        run_rounds(options.epochs, images.steps, due, options.max_steps),
        rated(network.distill, options.lr),
        options.architecture,
        device,
        recipe.seed,
    )


def check_images_fit(recipe: Recipe, file: ImagesFile) -> None:
    """Raise InputError for images whose shape does not fit block 0 of a built-in workload.

    Parameters
    ----------
    recipe : of the network.
    file : the images.
    """
    if not recipe.workload:
        return
    expected = recipe.built_in().input_shape
    if file.traits.shape != expected:
        raise InputError(
            f"{file.path}: images of shape {file.traits.shape}, block 0 of {recipe.workload} "
            f"in {recipe.shape} shape takes {expected}"
        )


def give_teacher(path: str | None, recipe: Recipe, network: Network) -> None:
    """Load a teacher's weights into the blocks.

    Parameters
    ----------
    path : file of weights, under torchvision's names; None: nothing is done.
    recipe : of the network.
    network : gets the weights.

    Raises
    ------
    InputError : see `teacher.load_teacher`; a file for the user's own blocks.
    """
    if path is None:
        return
    if recipe.blocks:
        raise InputError(f"--teacher {path}: with --blocks the function gives trained teachers")
    load_teacher(path, [*(pair.teacher for pair in network.pairs), network.head])
