"""Blockwise distillation in one process and plain torch: what every schedule must reproduce."""

from __future__ import annotations

import torch
from torch import nn


def compress(teachers, students, batches, lr, momentum):
    """Train every student on every whole batch against its teacher's output, by SGD."""
    for x in batches:
        for teacher, student in zip(teachers, students, strict=True):
            with torch.no_grad():
                target = teacher.eval()(x)
            weights = list(student.parameters())
            grads = torch.autograd.grad(nn.functional.mse_loss(student.train()(x), target), weights)
            with torch.no_grad():
                for weight, grad in zip(weights, grads, strict=True):
                    weight.velocity = momentum * getattr(weight, "velocity", 0) + grad
                    weight -= lr * weight.velocity
            x = target
