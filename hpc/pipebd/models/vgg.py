"""VGG-16 in 13 blocks, one convolution each, and its classifier as the head.

Children of the blocks carry torchvision's numbers (`features.N`), so that a key of its
state dict is "features." + the block's own key. Dropout in the classifier, which is the
identity in a frozen teacher, is left out: its place is kept for the numbers' sake.
Source: Simonyan and Zisserman, configuration D.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass

from torch import nn

from hpc.pipebd.option_values import Shape

SIDES: dict[Shape, int] = {"cifar": 32, "imagenet": 224}
"""Pixels a side of the images, by shape."""

CHANNELS = (64, 64, 128, 128, 256, 256, 256, 512, 512, 512, 512, 512, 512)
POOLED = frozenset({1, 3, 6, 9, 12})
"""Blocks that end in a 2×2 max-pooling."""
N_BLOCKS = len(CHANNELS)
HIDDEN = 4096


@dataclass(frozen=True)
class VggLayer:
    """One convolution of VGG-16.

    Attributes
    ----------
    c_in, c_out : int
        Channels in and out.
    pooled : bool
        Whether a 2×2 max-pooling follows.
    """

    c_in: int
    c_out: int
    pooled: bool


def vgg_layer(index: int, width: float) -> VggLayer:
    """Return convolution `index` of VGG-16, with all channels times `width`.

    Parameters
    ----------
    index : int
        0..12.
    width : float
        Factor on all channels but the image's, > 0.

    Returns
    -------
    VggLayer
        Its channels are at least 1.
    """
    c_in = 3 if index == 0 else scaled(CHANNELS[index - 1], width)
    return VggLayer(c_in, scaled(CHANNELS[index], width), index in POOLED)


def scaled(channels: int, width: float) -> int:
    """Return `channels` times `width`, at least 1.

    Parameters
    ----------
    channels : int
        At width 1.
    width : float
        Factor, > 0.

    Returns
    -------
    int
        Rounded to the nearest.
    """
    return max(1, round(channels * width))


def teacher_block(index: int, width: float, batch_norm: bool) -> nn.Sequential:
    """Return convolution, (batch norm,) ReLU and, where it is due, pooling.

    Weights are drawn as torchvision draws them (He, fan out).

    Parameters
    ----------
    index : int
        Of the block, 0..12.
    width : float
        Factor on all channels but the image's, > 0.
    batch_norm : bool
        Whether there is one: torchvision's vgg16_bn or vgg16, which decides the children's numbers.

    Returns
    -------
    nn.Sequential
        (n, c_in, side, side) to (n, c_out, side, side), half the side where it pools.
    """
    layer = vgg_layer(index, width)
    conv = nn.Conv2d(layer.c_in, layer.c_out, 3, padding=1)
    nn.init.kaiming_normal_(conv.weight, mode="fan_out", nonlinearity="relu")
    nn.init.zeros_(conv.bias)
    layers: list[nn.Module] = [conv]
    layers += [nn.BatchNorm2d(layer.c_out)] if batch_norm else []
    layers += [nn.ReLU(inplace=True)]
    layers += [nn.MaxPool2d(2)] if layer.pooled else []
    first = sum(2 + batch_norm + (earlier in POOLED) for earlier in range(index))
    return nn.Sequential(OrderedDict((str(first + i), child) for i, child in enumerate(layers)))


def teacher_head(shape: Shape, width: float, n_classes: int) -> nn.Sequential:
    """Return what follows the blocks: torchvision's classifier, or one layer for 32×32 images.

    Parameters
    ----------
    shape : str
        'cifar' (one layer) or 'imagenet'.
    width : float
        Factor on channels and hidden layers, > 0.
    n_classes : int
        How many logits.

    Returns
    -------
    nn.Sequential
        (n, channels, side, side) of the last block to (n, n_classes).
    """
    channels = scaled(CHANNELS[-1], width)
    if shape == "cifar":
        classifier: nn.Module = nn.Linear(channels, n_classes)
        return nn.Sequential(OrderedDict(flatten=nn.Flatten(), classifier=classifier))
    hidden = scaled(HIDDEN, width)
    classifier = nn.Sequential(
        nn.Linear(channels * 49, hidden),
        nn.ReLU(inplace=True),
        nn.Identity(),
        nn.Linear(hidden, hidden),
        nn.ReLU(inplace=True),
        nn.Identity(),
        nn.Linear(hidden, n_classes),
    )
    return nn.Sequential(
        OrderedDict(avgpool=nn.AdaptiveAvgPool2d(7), flatten=nn.Flatten(), classifier=classifier)
    )
