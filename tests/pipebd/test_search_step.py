"""SearchStep, alone and over shares, against the plain reference loop; the gates' gradient."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
import torch

from hpc.pipebd.models.proxyless import NAMES, ZERO
from hpc.pipebd.nas import ArchitectureSettings, SearchStep, expected_cost
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.reducer import Alone
from hpc.pipebd.rng import Draw
from hpc.pipebd.workloads import workload
from tests.pipebd.reference_loop import search
from tests.pipebd.test_step import TOLERANCE, relative_error
from tests.pipebd.thread_group import run_group

BATCH, SEED = 4, 2
KINDS = [Draw.PATH, Draw.PATH, Draw.ARCHITECTURE_PATH] * 2
SGD: dict[str, Any] = {"lr": 0.005, "momentum": 0.9, "nesterov": True, "weight_decay": 5e-4}
SETTINGS = SgdSettings(**SGD)


def small_pairs(dtype=torch.float64):
    return workload("mobilenetv2-proxyless", width=0.1, dtype=dtype, seed=SEED).pairs


def rounds(dtype):
    torch.manual_seed(1)
    return [(kind, i, torch.randn(BATCH, 3, 16, 16, dtype=dtype)) for i, kind in enumerate(KINDS)]


def run_search(pairs, data, reducer, rows):
    steps = [SearchStep(p, i, SETTINGS, reducer, BATCH, SEED) for i, p in enumerate(pairs)]
    for kind, number, x in data:
        x = x[rows]
        for step in steps:
            with torch.no_grad():
                target = step.pair.teacher(x)
            round_ = step.run if kind == Draw.PATH else step.run_architecture
            round_(x, target, 0, number)
            x = target
    return [pair.student.state_dict() for pair in pairs]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("bounds", [[0, 4], [0, 1, 4]], ids=["alone", "uneven shares"])
def test_search_equals_the_reference_loop(dtype, bounds):
    pairs, data = small_pairs(dtype), rounds(dtype)
    students = [copy.deepcopy(pair.student) for pair in pairs]
    keyed = [(kind, (0, number), SGD["lr"], x) for kind, number, x in data]
    search([pair.teacher for pair in pairs], students, keyed, SEED, SGD)
    expected = [student.state_dict() for student in students]
    for state in expected:
        assert state["alpha"].abs().max() > 1e-4, "every block's alpha has moved"
    ranges = list(pairwise(bounds))

    def share(reducer):
        return run_search(copy.deepcopy(pairs), data, reducer, slice(*ranges[reducer.rank]))

    for found in run_group(len(ranges), share):
        assert relative_error(found, expected) <= TOLERANCE[dtype]


def step_of_block(index=1, **architecture):
    pair = small_pairs()[index]
    settings = ArchitectureSettings(**architecture)
    return SearchStep(pair, index, SETTINGS, Alone(), BATCH, SEED, settings)


def inputs(step):
    torch.manual_seed(0)
    x = torch.randn(BATCH, 8, 8, 8, dtype=torch.float64)
    with torch.no_grad():
        return x, step.pair.teacher(x)


def test_architecture_round_moves_alpha_only():
    step = step_of_block()
    before = copy.deepcopy(step.student.state_dict())
    step.run_architecture(*inputs(step), 0, 0)
    for name, parameter in step.student.named_parameters():
        assert torch.equal(parameter, before[name]) == (name != "alpha"), name
    forbidden = ~step.student.allowed
    assert torch.equal(step.student.alpha[forbidden], before["alpha"][forbidden])


def test_weight_round_moves_the_path_only():
    """No decay and no momentum for candidates that were not drawn."""
    step = step_of_block()
    before = copy.deepcopy(step.student.state_dict())
    for number in range(3):
        step.run(*inputs(step), 0, number)
    drawn = set()
    for number in range(3):
        step.begin(0, number)
        drawn |= {f"cells.{i}.candidates.{k}." for i, k in enumerate(step.student.path)}
    for name, parameter in step.student.named_parameters():
        moved = name.startswith(tuple(drawn))
        assert torch.equal(parameter, before[name]) != moved, name


def test_only_the_path_is_reduced():
    step = step_of_block()
    step.begin(0, 0)
    size = sum(p.numel() for p in step.student.path_parameters())
    assert sum(len(bucket) for bucket in step.gradients()) == size
    step.begin_architecture(0, 0)
    assert sum(len(bucket) for bucket in step.gradients()) == step.student.alpha.numel()


def test_paths_depend_on_round_step_and_block_and_not_on_the_past():
    first, other = step_of_block(1), step_of_block(2)
    drawn = []
    for step in (first, other):
        for number in range(8):
            step.begin(0, number)
            drawn.append(step.student.path)
            step.begin_architecture(0, number)
            drawn.append(step.student.path)
    assert len(set(drawn)) > 24
    first.begin(0, 3)
    assert first.student.path == drawn[6]


def test_memory_of_an_architecture_round_is_that_of_a_weight_round():
    """Of all candidates, only the sampled one's activations are kept for the backward pass."""

    def kept_bytes(begin):
        step = step_of_block()
        begin(step)
        kept = {}

        def pack(tensor):
            kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
            return tensor

        step.student.path = (1, 1, 1, 1)
        x, target = inputs(step)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            loss = step.loss(step.forward(x), target)
        del loss
        return sum(kept.values())

    weights = kept_bytes(lambda step: step.begin(0, 0))
    search = kept_bytes(lambda step: step.begin_architecture(0, 0))
    assert search < 1.5 * weights


def test_flops_weight_pulls_towards_cheap_candidates():
    step = step_of_block(flops_weight=1e6)
    cost = [float(expected_cost(step.student).detach())]
    for number in range(3):
        step.run_architecture(*inputs(step), 0, number)
        cost.append(float(expected_cost(step.student).detach()))
    assert cost == sorted(cost, reverse=True)
    assert len(set(cost)) == 4
    alpha = step.student.alpha.detach()
    assert (alpha[1:].argmax(1) == ZERO).all()
    assert NAMES[int(alpha[0, :ZERO].argmax())] == "k3e3"


def test_shares_add_up_the_cost_once():
    losses = []
    for weight in (0.0, 3.0):
        step = step_of_block(flops_weight=weight)
        x, target = inputs(step)
        step.begin_architecture(0, 0)
        rows = [slice(0, 1), slice(1, 4)]
        output = step.forward(x)
        parts = [float(step.loss(output[r], target[r]).detach()) for r in rows]
        losses.append(sum(parts))
    assert losses[1] - losses[0] == pytest.approx(3 * float(expected_cost(step.student).detach()))


def test_a_path_of_zeros_alone_changes_nothing():
    step = step_of_block(3)
    step.begin(0, 0)
    step.student.path, step.weights = (ZERO,) * 4, []
    x = torch.randn(BATCH, 8, 8, 8, dtype=torch.float64)
    step.backward(step.loss(step.forward(x), torch.zeros_like(x)))


def test_goes_on_from_a_checkpoint_as_if_it_had_not_stopped():
    def go(step, numbers):
        for number in numbers:
            step.run(*inputs(step), 0, number)
            step.run_architecture(*inputs(step), 0, number)

    through, stopped, resumed = (step_of_block() for _ in range(3))
    go(through, range(4))
    go(stopped, range(2))
    resumed.load_state_dict(copy.deepcopy(stopped.state_dict()))
    go(resumed, range(2, 4))
    for name, value in through.student.state_dict().items():
        assert torch.equal(resumed.student.state_dict()[name], value), name


def test_rounds_are_due_from_a_quarter_of_the_epochs_on():
    due = ArchitectureSettings().due
    assert [step for step in range(12) if due(2, step, 8)] == [4, 9]
    assert not any(due(1, step, 8) for step in range(12))
