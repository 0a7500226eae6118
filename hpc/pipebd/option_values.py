"""What options of Pipe-BD may say. Imports no torch, so that a shell can complete it."""

from __future__ import annotations

from typing import Literal, get_args

VGG16_DSCONV, MOBILENETV2_PROXYLESS = "vgg16-dsconv", "mobilenetv2-proxyless"
WORKLOADS = (VGG16_DSCONV, MOBILENETV2_PROXYLESS)
"""Built-in ones, by name."""
Shape = Literal["cifar", "imagenet"]
SHAPES: tuple[Shape, ...] = get_args(Shape)
EXPORTS = ("state", "torchscript", "export")
