"""Blockwise distillation in one process and plain torch: what every schedule must reproduce."""

from __future__ import annotations

import torch
from torch.nn import functional

from hpc.pipebd.rng import Draw, numpy_generator


def compress(teachers, students, batches, lr, momentum):
    """Train every student on every whole batch against its teacher's output, by SGD."""
    for x in batches:
        for teacher, student in zip(teachers, students, strict=True):
            with torch.no_grad():
                target = teacher.eval()(x)
            weights = list(student.parameters())
            grads = torch.autograd.grad(functional.mse_loss(student.train()(x), target), weights)
            with torch.no_grad():
                for weight, grad in zip(weights, grads, strict=True):
                    weight.velocity = momentum * getattr(weight, "velocity", 0) + grad
                    weight -= lr * weight.velocity
            x = target


def search(teachers, supernets, rounds, seed, sgd):
    """Train supernets: rounds are (Draw.PATH or .ARCHITECTURE_PATH, (epoch, step), rate, batch)."""
    weights = [[p for n, p in s.named_parameters() if n != "alpha"] for s in supernets]
    sgds = [torch.optim.SGD(own, **sgd) for own in weights]
    adams = [torch.optim.Adam([s.alpha], lr=1e-3, betas=(0.0, 0.999)) for s in supernets]
    for kind, key, lr, x in rounds:
        for block, (teacher, supernet) in enumerate(zip(teachers, supernets, strict=True)):
            with torch.no_grad():
                target = teacher.eval()(x)
                p = supernet.alpha.masked_fill(~supernet.allowed, -torch.inf).softmax(1)
            draws = numpy_generator(kind, seed, *key, block).random(len(p))
            chosen = [int((row.cumsum(0) <= u).sum()) for row, u in zip(p, draws, strict=True)]
            gates = functional.one_hot(torch.tensor(chosen), 7).to(x.dtype).requires_grad_()
            output = _run(supernet.train(), x, gates, chosen if kind == Draw.PATH else range(7))
            loss = functional.mse_loss(output, target)
            if block == len(teachers) - 1:
                loss = -(target.softmax(1) * output.log_softmax(1)).sum(1).mean()
            sgds[block].param_groups[0]["lr"] = lr
            sgds[block].zero_grad(set_to_none=True)
            loss.backward()
            if kind == Draw.ARCHITECTURE_PATH:
                g = gates.grad
                supernet.alpha.grad = p * (g - (g * p).sum(1, keepdim=True))
            (sgds if kind == Draw.PATH else adams)[block].step()
            x = target


def _run(supernet, x, gates, kinds):
    """Run all candidates if all are asked for, else each cell's own, weighted by the gates."""
    x = supernet.stem(x)
    for place, (cell, gate) in enumerate(zip(supernet.cells, gates, strict=True)):
        wanted = range(6) if len(kinds) == 7 else [k for k in [kinds[place]] if k < 6]
        y = sum(gate[k] * cell.candidates[k](x) for k in wanted)
        x = x + y if cell.residual else y
    return supernet.tail(x)
