"""The compressed VGG-16: every convolution becomes a depthwise-separable one.

Paper: Pipe-BD, its workload "Model Compression": 3×3 convolution → depthwise 3×3
and pointwise 1×1.
"""

from __future__ import annotations

from torch import nn

from hpc.pipebd.models.vgg import vgg_layer


def student_block(index: int, width: float) -> nn.Sequential:
    """Return the student of VGG-16's block `index`: same shapes in and out.

    Batch norm replaces the convolutions' biases: without it a rate of 0.1 does not converge.

    Parameters
    ----------
    index : int
        0..12.
    width : float
        Factor on all channels but the image's, > 0.

    Returns
    -------
    nn.Sequential
        Depthwise and pointwise convolution, batch norm, ReLU and, where it is due, pooling.
    """
    layer = vgg_layer(index, width)
    layers = [
        nn.Conv2d(layer.c_in, layer.c_in, 3, padding=1, groups=layer.c_in, bias=False),
        nn.Conv2d(layer.c_in, layer.c_out, 1, bias=False),
        nn.BatchNorm2d(layer.c_out),
        nn.ReLU(inplace=True),
    ]
    return nn.Sequential(*layers, *([nn.MaxPool2d(2)] if layer.pooled else []))
