"""The built-in workloads: teacher, students, sizes and the settings they are trained with.

Settings: Pipe-BD, its section on the experimental setup, and the systems that it takes its
workloads from (DNA, ProxylessNAS, layerwise distillation). The momentum of the compression,
of which they say nothing, is ours.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch import nn

from hpc.io.errors import InputError
from hpc.pipebd.blocks import BlockPair, freeze
from hpc.pipebd.losses import Loss, mean_squared_error, soft_cross_entropy
from hpc.pipebd.models import dsconv, mobilenetv2, proxyless, vgg
from hpc.pipebd.models.vgg import SIDES
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.option_values import MOBILENETV2_PROXYLESS, SHAPES, VGG16_DSCONV, Shape
from hpc.pipebd.rng import Draw, seeded


@dataclass(frozen=True)
class Workload:
    """A teacher cut into blocks, a student for each, and what follows the blocks.

    Blocks are built on demand and their first weights keyed by (seed, block), so that a
    rank need not build the blocks of others.

    Attributes
    ----------
    name, shape : str
        What it was asked for by.
    input_shape : (channels, height, width)
        Of an image.
    n_blocks, n_classes, seed : int
        B; logits of the whole network; of all first weights.
    dtype : torch.dtype
        Of weights and inputs.
    distill : SgdSettings
        How students are trained.
    finish : SgdSettings
        How the assembled student is trained on labels (fine-tuning; for a search, retraining from
        scratch).
    smoothing : float
        Of its labels, in [0, 1].
    loss_of : callable
        Loss of a block, by index.
    teacher_of, student_of, head_of : callable
        Build fresh modules, of block index; see `pair`, `head`.
    derived_of : callable or None
        For a search, builds block `index` with the named candidates.
    """

    name: str
    shape: Shape
    input_shape: tuple[int, int, int]
    n_blocks: int
    n_classes: int
    dtype: torch.dtype
    seed: int
    distill: SgdSettings
    finish: SgdSettings
    smoothing: float
    loss_of: Callable[[int], Loss]
    teacher_of: Callable[[int], nn.Module]
    student_of: Callable[[int], nn.Module]
    head_of: Callable[[], nn.Module]
    derived_of: Callable[[int, Sequence[str]], nn.Module] | None = None

    def pair(self, index: int) -> BlockPair:
        """Return a fresh pair of block `index`; the teacher's weights are random.

        Parameters
        ----------
        index : int
            0..B-1.

        Returns
        -------
        BlockPair
            The same on every call, on every rank.
        """
        with seeded(Draw.TEACHER_WEIGHTS, self.seed, index):
            teacher = self.teacher_of(index).to(self.dtype)
        return BlockPair(teacher, self.build_student(index), self.loss_of(index), f"block{index}")

    def build_student(self, index: int) -> nn.Module:
        """Return a fresh student of block `index`.

        Parameters
        ----------
        index : int
            0..B-1.

        Returns
        -------
        nn.Module
            Its weights are the same on every call, on every rank.
        """
        with seeded(Draw.STUDENT_WEIGHTS, self.seed, index):
            return self.student_of(index).to(self.dtype)

    def build_derived(self, index: int, names: Sequence[str]) -> nn.Module:
        """Return a fresh block of the network that a search has found.

        Parameters
        ----------
        index : int
            0..B-1.
        names : sequence of str
            Of its cells' candidates.

        Returns
        -------
        nn.Module
            Its weights are the same on every call, on every rank.

        Raises
        ------
        InputError : the workload is no search.
        """
        if self.derived_of is None:
            raise InputError(f"{self.name} is not a search: there is no architecture to build")
        with seeded(Draw.STUDENT_WEIGHTS, self.seed, index):
            return self.derived_of(index, names).to(self.dtype)

    @cached_property
    def pairs(self) -> list[BlockPair]:
        """All blocks, built once."""
        return [self.pair(index) for index in range(self.n_blocks)]

    @cached_property
    def head(self) -> nn.Module:
        """What follows the teacher's last block, frozen, built once."""
        with seeded(Draw.TEACHER_WEIGHTS, self.seed, self.n_blocks):
            return freeze(self.head_of().to(self.dtype))


def workload(
    name: str,
    shape: str = "cifar",
    width: float = 1.0,
    n_classes: int | None = None,
    dtype: torch.dtype = torch.float32,
    seed: int = 0,
    **options: Any,
) -> Workload:
    """Return a built-in workload.

    Parameters
    ----------
    name : str
        One of `WORKLOADS`.
    shape : str
        'cifar' (3×32×32) or 'imagenet' (3×224×224).
    width : float
        Factor on all channels but the image's, > 0.
    n_classes : int, optional
        10 or 1000 by shape unless given.
    dtype : torch.dtype
        Of all weights.
    seed : int
        Of the first weights, >= 0.
    **options : bool
        Of the workload. vgg16-dsconv: `batch_norm`, whether the teacher has it (torchvision's
        vgg16_bn or vgg16), True unless given.

    Returns
    -------
    Workload
        Nothing is built yet.

    Raises
    ------
    InputError : unknown name, shape or option (lists the valid ones); width or classes not
        positive.
    """
    if name not in WORKLOADS:
        raise InputError(f"unknown workload {name!r}; expected {' or '.join(WORKLOADS)}")
    if shape not in SHAPES:
        raise InputError(f"unknown shape {shape!r}; expected {' or '.join(SHAPES)}")
    n_classes = (10 if shape == "cifar" else 1000) if n_classes is None else n_classes
    if not 0 < width < math.inf or n_classes < 1:
        raise InputError(f"width {width}, {n_classes} classes: expected positive, finite numbers")
    if unknown := sorted(set(options) - OPTIONS[name]):
        valid = ", ".join(sorted(OPTIONS[name])) or "none"
        raise InputError(f"{name} does not take {', '.join(unknown)}; its options: {valid}")
    sizes = {"shape": shape, "width": width, "n_classes": n_classes}
    return WORKLOADS[name](**sizes, dtype=dtype, seed=seed, **options)


def _vgg16_dsconv(
    shape: Shape,
    width: float,
    n_classes: int,
    dtype: torch.dtype,
    seed: int,
    batch_norm: bool = True,
) -> Workload:
    return Workload(
        name=VGG16_DSCONV,
        shape=shape,
        input_shape=(3, SIDES[shape], SIDES[shape]),
        n_blocks=vgg.N_BLOCKS,
        n_classes=n_classes,
        dtype=dtype,
        seed=seed,
        distill=SgdSettings(lr=0.1, momentum=0.9),
        finish=SgdSettings(lr=1e-4, momentum=0.9),
        smoothing=0.0,
        loss_of=lambda _: mean_squared_error,
        teacher_of=partial(vgg.teacher_block, width=width, batch_norm=batch_norm),
        student_of=partial(dsconv.student_block, width=width),
        head_of=partial(vgg.teacher_head, shape, width, n_classes),
    )


def _mobilenetv2_proxyless(
    shape: Shape, width: float, n_classes: int, dtype: torch.dtype, seed: int
) -> Workload:
    cifar = shape == "cifar"
    decay = 5e-4 if cifar else 4e-5
    sgd = partial(SgdSettings, momentum=0.9, nesterov=True, weight_decay=decay, schedule="cosine")
    sizes: dict[str, Any] = {"shape": shape, "width": width, "n_classes": n_classes}
    last = mobilenetv2.N_BLOCKS - 1
    return Workload(
        name=MOBILENETV2_PROXYLESS,
        shape=shape,
        input_shape=(3, SIDES[shape], SIDES[shape]),
        n_blocks=mobilenetv2.N_BLOCKS,
        n_classes=n_classes,
        dtype=dtype,
        seed=seed,
        distill=sgd(lr=0.005),
        finish=sgd(lr=0.1 if cifar else 0.05),
        smoothing=0.1,
        loss_of=lambda index: soft_cross_entropy if index == last else mean_squared_error,
        teacher_of=partial(mobilenetv2.teacher_block, **sizes),
        student_of=partial(proxyless.SupernetBlock, **sizes),
        head_of=nn.Identity,
        derived_of=partial(proxyless.DerivedBlock, **sizes),
    )


WORKLOADS: dict[str, Callable[..., Workload]] = {
    VGG16_DSCONV: _vgg16_dsconv,
    MOBILENETV2_PROXYLESS: _mobilenetv2_proxyless,
}

OPTIONS: dict[str, frozenset[str]] = {
    VGG16_DSCONV: frozenset({"batch_norm"}),
    MOBILENETV2_PROXYLESS: frozenset(),
}
"""What each workload takes beside sizes."""
