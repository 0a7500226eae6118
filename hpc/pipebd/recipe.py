"""What a network is made from, small enough to be kept with its weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import nn

from hpc.io.errors import InputError
from hpc.pipebd.blocks import BlockPair, load_blocks
from hpc.pipebd.compress import assemble
from hpc.pipebd.nas import Architecture
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.rng import Draw, seeded
from hpc.pipebd.workloads import WORKLOADS, Workload, workload

USER_DISTILL = SgdSettings(lr=0.1, momentum=0.9)
USER_FINISH = SgdSettings(lr=1e-4, momentum=0.9)
"""Settings for a user's own blocks: those of the compression."""


@dataclass(frozen=True)
class Recipe:
    """How to build teacher and student.

    Attributes
    ----------
    workload : a built-in one, or '' with `blocks`.
    blocks : MODULE:FUNCTION of the user's own, or ''.
    shape : 'cifar' or 'imagenet', of a workload.
    width : factor on all channels of a workload, > 0.
    n_classes : logits of a workload.
    batch_norm : of a VGG teacher, see `workloads.workload`; None leaves it.
    architecture : of the derived student of a search; None before there is one.
    seed : of the first weights; plays no part in comparisons.
    dtype : of all weights; plays no part in comparisons.
    """

    workload: str = ""
    blocks: str = ""
    shape: str = "cifar"
    width: float = 1.0
    n_classes: int = 10
    batch_norm: bool | None = None
    architecture: Architecture | None = None
    seed: int = field(default=0, compare=False)
    dtype: torch.dtype = field(default=torch.float32, compare=False)

    @property
    def label(self) -> str:
        """Return what it is called in profiles and figures: name and sizes."""
        if self.blocks:
            return self.blocks
        plain = "" if self.batch_norm in (None, True) else " without batch norm"
        return f"{self.workload} {self.shape} width {self.width:g}{plain}"

    def built_in(self) -> Workload:
        """Return the workload.

        Returns
        -------
        The workload.

        Raises
        ------
        InputError : see `workloads.workload`; an option that it does not take; user's blocks.
        """
        if not self.workload:
            raise InputError(f"this needs one of the workloads {', '.join(WORKLOADS)}")
        options = {} if self.batch_norm is None else {"batch_norm": self.batch_norm}
        return workload(
            self.workload,
            self.shape,
            self.width,
            self.n_classes,
            self.dtype,
            self.seed,
            **options,
        )


@dataclass
class Network:
    """Blocks, what follows them, and how they are trained.

    Attributes
    ----------
    pairs : list of BlockPair
        In order.
    head : nn.Module
        What follows the teacher's last block.
    distill, finish, smoothing : SgdSettings, SgdSettings, float
        See `Workload`.
    searching : bool
        Students are supernets.
    """

    pairs: list[BlockPair]
    head: nn.Module
    distill: SgdSettings
    finish: SgdSettings
    smoothing: float
    searching: bool


def build_network(recipe: Recipe) -> Network:
    """Build all blocks, the same on every rank.

    Parameters
    ----------
    recipe : of a workload, or of a user's blocks.

    Returns
    -------
    Teachers and students with fresh weights.

    Raises
    ------
    InputError : see `Recipe.built_in` and `blocks.load_blocks`; neither or both were given.
    """
    if bool(recipe.workload) == bool(recipe.blocks):
        raise InputError(
            f"expected either one of the workloads {', '.join(WORKLOADS)} or "
            "--blocks MODULE:FUNCTION"
        )
    if recipe.blocks:
        with seeded(Draw.STUDENT_WEIGHTS, recipe.seed):
            pairs = load_blocks(recipe.blocks)
        return user_network(pairs, recipe.dtype)
    built = recipe.built_in()
    searching = built.derived_of is not None
    return Network(built.pairs, built.head, built.distill, built.finish, built.smoothing, searching)


def user_network(pairs: Sequence[BlockPair], dtype: torch.dtype) -> Network:
    """Return the network of a user's own blocks, which get this dtype.

    Parameters
    ----------
    pairs : at least one.
    dtype : of all weights.

    Returns
    -------
    The network; nothing follows its last block.
    """
    for pair in pairs:
        pair.teacher.to(dtype)
        pair.student.to(dtype)
    named = [replace(pair, name=_name(pair, index)) for index, pair in enumerate(pairs)]
    return Network(named, nn.Identity(), USER_DISTILL, USER_FINISH, 0.0, False)


def _name(pair: BlockPair, index: int) -> str:
    return f"block{index}" if pair.name == "block" else pair.name


def build_student(recipe: Recipe) -> nn.Module:
    """Build the assembled student with fresh weights: students, or derived blocks, and head.

    Parameters
    ----------
    recipe : of a workload, or of a user's blocks.

    Returns
    -------
    One network.

    Raises
    ------
    InputError : as `build_network`; a search without architecture.
    """
    if recipe.blocks:
        network = build_network(recipe)
        return assemble([pair.student for pair in network.pairs], network.head)
    built = recipe.built_in()
    if built.derived_of is None:
        blocks = [built.build_student(index) for index in range(built.n_blocks)]
    elif recipe.architecture is None:
        raise InputError(f"{recipe.label}: a supernet; give the architecture that was found")
    else:
        blocks = derived_blocks(built, recipe.architecture)
    return assemble(blocks, built.head)


def derived_blocks(built: Workload, architecture: Architecture) -> list[nn.Module]:
    """Return fresh blocks of the network that a search has found.

    Parameters
    ----------
    built : the workload of the search.
    architecture : that was found.

    Returns
    -------
    The blocks, in order.
    """
    return [built.build_derived(index, names) for index, names in enumerate(architecture)]


def whole_teacher(blocks: Sequence[nn.Module], head: nn.Module) -> nn.Module:
    """Return blocks and head as one network, all of it to be trained: a teacher.

    Parameters
    ----------
    blocks : of the teacher, in order.
    head : what follows them.

    Returns
    -------
    The network; its modules are those given.
    """
    return nn.Sequential(*blocks, head).requires_grad_(True)
