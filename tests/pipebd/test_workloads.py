"""Built-in workloads: what they are made of, and the names that are refused."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hpc.io.errors import InputError
from hpc.pipebd.blocks import check_pairs
from hpc.pipebd.workloads import workload


def conv_weights(module):
    return sum(m.weight.numel() for m in module.modules() if isinstance(m, nn.Conv2d))


def test_vgg_is_vgg16():
    """As torchvision counts: 138,357,544 parameters, 14,714,688 of them in its features."""
    built = workload("vgg16-dsconv", "imagenet", n_classes=1000, batch_norm=False)
    assert built.n_blocks == 13
    teachers = [built.teacher_of(index) for index in range(13)]
    with torch.device("meta"):
        head = built.head_of()
    assert sum(p.numel() for t in teachers for p in t.parameters()) == 14_714_688
    assert sum(p.numel() for p in head.parameters()) == 138_357_544 - 14_714_688


def test_vgg_student_is_depthwise_separable():
    built = workload("vgg16-dsconv")
    for index in range(13):
        depthwise, pointwise = built.student_of(index)[:2]
        assert depthwise.groups == depthwise.in_channels == depthwise.out_channels
        assert depthwise.kernel_size == (3, 3)
        assert pointwise.kernel_size == (1, 1)


@pytest.mark.parametrize(("shape", "last"), [("cifar", (2, 32, 1, 1)), ("imagenet", (2, 32, 7, 7))])
def test_vgg_shapes(shape, last):
    built = workload("vgg16-dsconv", shape, 1 / 16, 7)
    shapes = check_pairs(built.pairs, torch.zeros(2, *built.input_shape))
    assert shapes[-1] == last
    assert built.head(torch.zeros(last)).shape == (2, 7)


def test_blocks_do_not_depend_on_which_others_were_built():
    whole = workload("vgg16-dsconv", width=1 / 16, seed=4).pairs[6]
    torch.rand(3)
    alone = workload("vgg16-dsconv", width=1 / 16, seed=4).pair(6)
    other = workload("vgg16-dsconv", width=1 / 16, seed=5).pair(6)
    for role in ("teacher", "student"):
        weights = [next(getattr(p, role).parameters()) for p in (whole, alone, other)]
        assert torch.equal(weights[0], weights[1])
        assert not torch.equal(weights[0], weights[2])


def test_dtype():
    built = workload("vgg16-dsconv", width=1 / 16, dtype=torch.float64)
    modules = [built.pairs[3].teacher, built.pairs[3].student, built.head]
    assert {p.dtype for m in modules for p in m.parameters()} == {torch.float64}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("resnet",), r"unknown workload 'resnet'; expected vgg16-dsconv or mobilenetv2-proxyless"),
        (("vgg16-dsconv", "mnist"), "unknown shape 'mnist'; expected cifar or imagenet"),
        (("vgg16-dsconv", "cifar", 0.0), "width 0.0"),
        (("vgg16-dsconv", "cifar", 1.0, 0), "0 classes"),
    ],
)
def test_names_and_sizes_that_do_not_exist(arguments, words):
    with pytest.raises(InputError, match=words):
        workload(*arguments)
