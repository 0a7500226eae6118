"""The assembled student and its accuracy."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from hpc.pipebd.compress import accuracy, assemble, conv_weights
from hpc.pipebd.data import Batch
from hpc.pipebd.workloads import workload


def test_assembled_student_is_the_blocks_and_the_head_and_can_be_trained():
    built = workload("vgg16-dsconv", width=1 / 16)
    students = [pair.student.eval() for pair in built.pairs]
    model = assemble(students, built.head).eval()
    x = y = torch.randn(2, 3, 32, 32)
    for module in [*students, built.head]:
        y = module(y)
    assert torch.equal(model(x), y)
    assert all(p.requires_grad for p in model.parameters())
    assert not any(p.requires_grad for p in built.head.parameters())
    with torch.no_grad():
        next(model.parameters()).zero_()
    assert next(students[0].parameters()).abs().max() > 0


class Always(nn.Module):
    """Names the same class whatever it sees, and refuses to be in training mode."""

    def forward(self, x):
        assert not self.training
        return torch.tensor([0.0, 1.0, 0.0]).expand(len(x), 3)


def test_accuracy_counts_images_and_not_batches():
    batches = [
        Batch(torch.zeros(4, 1), torch.tensor([1, 1, 1, 0])),
        Batch(torch.zeros(1, 1), torch.tensor([2])),
    ]
    assert accuracy(Always(), batches) == pytest.approx(3 / 5)


@pytest.mark.parametrize("width", [1.0, 1 / 8])
def test_convolution_weights_of_the_compressed_network(width):
    """Depthwise 9 C and pointwise C C', where the teacher has 9 C C'."""
    built = workload("vgg16-dsconv", width=width)
    teachers = sum(conv_weights(built.teacher_of(index)) for index in range(13))
    students = sum(conv_weights(built.student_of(index)) for index in range(13))
    layers = [layer for index in range(13) for layer in [built.student_of(index)[1]]]
    shapes = [(layer.in_channels, layer.out_channels) for layer in layers]
    assert students == sum(9 * a + a * b for a, b in shapes)
    assert teachers == sum(9 * a * b for a, b in shapes)
    assert students < teachers / 5
