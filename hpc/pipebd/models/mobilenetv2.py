"""MobileNetV2 in 6 blocks: the teacher of the architecture search.

The stem belongs to block 0; head convolution, pooling and classifier to block 5. Children
of the blocks carry torchvision's numbers (`features.N`), see `vgg`; dropout before the
classifier is left out, its place kept. Source: Sandler et al. 2018, table 2.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from dataclasses import dataclass

import torch
from torch import nn

from hpc.pipebd.models.vgg import SIDES
from hpc.pipebd.option_values import Shape

WIDTHS = (24, 32, 64, 96, 160, 320)
CELLS = (2, 3, 4, 3, 3, 1)
STRIDES: dict[Shape, tuple[int, ...]] = {
    "imagenet": (2, 2, 2, 1, 2, 1),
    "cifar": (1, 2, 2, 1, 2, 1),
}
STEM_STRIDE: dict[Shape, int] = {"imagenet": 2, "cifar": 1}
N_BLOCKS = len(WIDTHS)
STEM, FIRST, LAST = 32, 16, 1280
"""Channels of the first convolution, of the first cell and of the head convolution."""
EXPANSION = 6
DIVISOR = 8
CELL_NUMBER = 2
"""torchvision's number of the first cell that is not the stem's."""


@dataclass(frozen=True)
class Cell:
    """Where a cell stands.

    Attributes
    ----------
    c_in, c_out : int
        Channels in and out.
    stride : int
        1 or 2.
    """

    c_in: int
    c_out: int
    stride: int

    @property
    def residual(self) -> bool:
        """Whether its input is added to its output."""
        return self.stride == 1 and self.c_in == self.c_out


def scaled(channels: int, width: float) -> int:
    """Return `channels` times `width`, rounded to a multiple of 8, not below 90 % of it.

    Source: MobileNet's rule, as in torchvision.

    Parameters
    ----------
    channels : int
        At width 1.
    width : float
        Factor, > 0.

    Returns
    -------
    int
        At least 8.
    """
    wanted = channels * width
    rounded = max(DIVISOR, int(wanted + DIVISOR / 2) // DIVISOR * DIVISOR)
    return rounded + DIVISOR if rounded < 0.9 * wanted else rounded


def cells_of(index: int, n_cells: int, shape: Shape, width: float) -> list[Cell]:
    """Return the cells of a block: the first changes width and stride.

    Parameters
    ----------
    index : int
        Of the block, 0..5.
    n_cells : int
        How many it has, in the teacher or in the supernet.
    shape : str
        'cifar' or 'imagenet', which decides the strides.
    width : float
        Factor on all channels, > 0.

    Returns
    -------
    list of Cell
        In order.
    """
    c_in = scaled(FIRST if index == 0 else WIDTHS[index - 1], width)
    c_out = scaled(WIDTHS[index], width)
    first = Cell(c_in, c_out, STRIDES[shape][index])
    return [first, *(Cell(c_out, c_out, 1) for _ in range(n_cells - 1))]


def input_side(index: int, shape: Shape) -> int:
    """Return the pixels a side of the first cell's input in block `index`.

    Parameters
    ----------
    index : int
        0..5.
    shape : str
        'cifar' or 'imagenet'.

    Returns
    -------
    int
        In block 0 behind the stem.
    """
    return SIDES[shape] // STEM_STRIDE[shape] // math.prod(STRIDES[shape][:index])


def conv_bn(
    c_in: int, c_out: int, kernel: int, stride: int = 1, groups: int = 1, eps: float = 1e-5
) -> nn.Sequential:
    """Return convolution, batch norm and ReLU6.

    Parameters
    ----------
    c_in, c_out : int
        Channels in and out.
    kernel : int
        Pixels a side, odd; the image is padded by half of it.
    stride : int
        Of the convolution.
    groups : int
        c_in for a depthwise one.
    eps : float
        Of the batch norm.

    Returns
    -------
    nn.Sequential
        (n, c_in, height, width) to (n, c_out, height / stride, width / stride), rounded up.
    """
    return nn.Sequential(
        nn.Conv2d(c_in, c_out, kernel, stride, kernel // 2, groups=groups, bias=False),
        nn.BatchNorm2d(c_out, eps=eps),
        nn.ReLU6(inplace=True),
    )


def mbconv(cell: Cell, kernel: int, expansion: int, eps: float = 1e-5) -> nn.Sequential:
    """Return an inverted bottleneck, without its residual: expand, depthwise, project.

    Parameters
    ----------
    cell : Cell
        Channels and stride.
    kernel : int
        Of the depthwise convolution, pixels a side, odd.
    expansion : int
        Factor on the channels in between; 1 leaves the expansion out.
    eps : float
        Of the batch norms.

    Returns
    -------
    nn.Sequential
        (n, c_in, height, width) to (n, c_out, height / stride, width / stride), rounded up.
    """
    hidden = cell.c_in * expansion
    expand = [conv_bn(cell.c_in, hidden, 1, eps=eps)] if expansion != 1 else []
    return nn.Sequential(
        *expand,
        conv_bn(hidden, hidden, kernel, cell.stride, hidden, eps),
        nn.Conv2d(hidden, cell.c_out, 1, bias=False),
        nn.BatchNorm2d(cell.c_out, eps=eps),
    )


class InvertedResidual(nn.Module):
    """A cell of the teacher: an inverted bottleneck with its residual where it has one.

    Parameters
    ----------
    cell : Cell
        Channels and stride.
    expansion : int
        As `mbconv`'s.
    """

    def __init__(self, cell: Cell, expansion: int) -> None:
        super().__init__()
        self.conv = mbconv(cell, 3, expansion)
        self.residual = cell.residual

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the cell's output.

        Parameters
        ----------
        x : (n, c_in, height, width) tensor
            Of the cell before.

        Returns
        -------
        (n, c_out, height / stride, width / stride) tensor
            Rounded up.
        """
        return x + self.conv(x) if self.residual else self.conv(x)


def stem(shape: Shape, width: float, eps: float = 1e-5) -> tuple[nn.Module, Cell]:
    """Return the first convolution and the cell, of expansion 1, that follows it.

    Parameters
    ----------
    shape : str
        'cifar' or 'imagenet', which decides the stride.
    width : float
        Factor on all channels but the image's, > 0.
    eps : float
        Of the batch norm.

    Returns
    -------
    convolution : nn.Module
        With batch norm and ReLU6, of images of 3 channels.
    cell : Cell
        Still to be built.
    """
    channels = scaled(STEM, width)
    return (
        conv_bn(3, channels, 3, STEM_STRIDE[shape], eps=eps),
        Cell(channels, scaled(FIRST, width), 1),
    )


def tail(width: float, n_classes: int, eps: float = 1e-5) -> OrderedDict[str, nn.Module]:
    """Return what ends block 5: head convolution (torchvision's number 18) to classifier.

    Parameters
    ----------
    width : float
        Factor on all channels; those of the head convolution are 1280 at least.
    n_classes : int
        How many logits.
    eps : float
        Of the batch norm.

    Returns
    -------
    OrderedDict of str to nn.Module
        Children of a block, in order: (n, 320 · width, side, side) to (n, n_classes).
    """
    channels = LAST if width <= 1 else scaled(LAST, width)
    return OrderedDict(
        [
            ("18", conv_bn(scaled(WIDTHS[-1], width), channels, 1, eps=eps)),
            ("pool", nn.AdaptiveAvgPool2d(1)),
            ("flatten", nn.Flatten()),
            ("classifier", nn.Sequential(nn.Identity(), nn.Linear(channels, n_classes))),
        ]
    )


def teacher_block(index: int, shape: Shape, width: float, n_classes: int) -> nn.Sequential:
    """Return a block of the teacher; weights are drawn as torchvision draws them.

    Parameters
    ----------
    index : int
        0..5.
    shape : str
        'cifar' or 'imagenet'.
    width : float
        Factor on all channels but the image's, > 0.
    n_classes : int
        Logits of block 5.

    Returns
    -------
    nn.Sequential
        Its children's names are torchvision's numbers.
    """
    children: OrderedDict[str, nn.Module] = OrderedDict()
    if index == 0:
        children["0"], first = stem(shape, width)
        children["1"] = InvertedResidual(first, 1)
    number = CELL_NUMBER + sum(CELLS[:index])
    for place, cell in enumerate(cells_of(index, CELLS[index], shape, width)):
        children[str(number + place)] = InvertedResidual(cell, EXPANSION)
    if index == N_BLOCKS - 1:
        children.update(tail(width, n_classes))
    return _initialised(nn.Sequential(children))


def _initialised(block: nn.Sequential) -> nn.Sequential:
    for layer in block.modules():
        if isinstance(layer, nn.Conv2d):
            nn.init.kaiming_normal_(layer.weight, mode="fan_out")
        elif isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, 0, 0.01)
            nn.init.zeros_(layer.bias)
    return block
