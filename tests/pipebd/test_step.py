"""StudentStep, alone and over shares, against the plain reference loop on the whole batch."""

from __future__ import annotations

import copy
from itertools import pairwise

import pytest
import torch
from torch import nn

from hpc.io.errors import InputError
from hpc.pipebd.blocks import BlockPair
from hpc.pipebd.optimizer import SgdSettings
from hpc.pipebd.reducer import Alone
from hpc.pipebd.step import StudentStep
from hpc.pipebd.workloads import workload
from tests.pipebd.reference_loop import compress
from tests.pipebd.thread_group import run_group

BATCH, STEPS = 6, 10
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}


def small_vgg(dtype):
    return workload("vgg16-dsconv", width=1 / 16, dtype=dtype, seed=3).pairs


def batches(dtype):
    torch.manual_seed(1)
    return [torch.randn(BATCH, 3, 32, 32, dtype=dtype) for _ in range(STEPS)]


def distill(pairs, data, settings, reducer, rows):
    """Train all blocks on rows `rows` of every batch; return the students' states."""
    steps = [StudentStep(p, i, settings, reducer, BATCH) for i, p in enumerate(pairs)]
    for number, x in enumerate(data):
        x = x[rows]
        for step in steps:
            with torch.no_grad():
                target = step.pair.teacher(x)
            step.run(x, target, 0, number, number / len(data))
            x = target
    return [pair.student.state_dict() for pair in pairs]


def relative_error(found, expected):
    """Largest difference of any tensor over its norm, in root mean square.

    Where the exact result is about 0, as the mean of what a batch norm has centred is, that
    would be noise over noise; such a tensor counts as of size 0.1, architecture as of 0.001.
    """
    errors = []
    for mine, theirs in zip(found, expected, strict=True):
        assert mine.keys() == theirs.keys()
        for key, value in theirs.items():
            if value.is_floating_point():
                floor = (1e-3 if key == "alpha" else 0.1) * value.numel() ** 0.5
                errors.append(float((mine[key] - value).norm() / value.norm().clamp_min(floor)))
            else:
                assert torch.equal(mine[key], value)
    return max(errors)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("bounds", [[0, 6], [0, 1, 3, 6]], ids=["alone", "uneven shares"])
def test_vgg_equals_the_reference_loop(dtype, bounds):
    pairs, data = small_vgg(dtype), batches(dtype)
    students = [copy.deepcopy(pair.student) for pair in pairs]
    compress([pair.teacher for pair in pairs], students, data, 0.1, 0.9)
    expected = [student.state_dict() for student in students]
    ranges = list(pairwise(bounds))

    def share(reducer):
        mine = copy.deepcopy(pairs)
        rows = slice(*ranges[reducer.rank])
        return distill(mine, data, SgdSettings(0.1, 0.9), reducer, rows)

    for found in run_group(len(ranges), share):
        assert relative_error(found, expected) <= TOLERANCE[dtype]


def linear_step(settings):
    torch.manual_seed(0)
    pair = BlockPair(nn.Linear(3, 2), nn.Linear(3, 2))
    return StudentStep(pair, 0, settings, Alone(), 4)


def test_buckets_are_views_of_the_gradients_and_no_larger_than_asked():
    step = linear_step(SgdSettings(0.1))
    step.begin(0, 0)
    x = torch.randn(4, 3)
    step.backward(step.loss(step.forward(x), torch.zeros(4, 2)))
    buckets = step.gradients(bucket_bytes=12)
    assert [len(bucket) for bucket in buckets] == [3, 3, 2]
    whole = torch.cat(buckets)
    expected = torch.cat([p.grad.flatten() for p in step.student.parameters()])
    assert torch.equal(whole, expected)
    assert whole.abs().min() > 0
    buckets[0].fill_(7)
    assert step.student.weight.grad[0].tolist() == [7, 7, 7]


def test_gradients_do_not_pile_up_from_step_to_step():
    step = linear_step(SgdSettings(0.0))
    x, target = torch.randn(4, 3), torch.zeros(4, 2)
    step.run(x, target)
    first = step.gradients()[0].clone()
    step.run(x, target)
    assert torch.equal(step.gradients()[0], first)


@pytest.mark.parametrize(("schedule", "expected"), [("constant", 0.4), ("cosine", 0.2)])
def test_learning_rate_over_the_run(schedule, expected):
    step = linear_step(SgdSettings(0.4, schedule=schedule))
    step.begin(0, 0, 0.0)
    assert step.optimizer.param_groups[0]["lr"] == pytest.approx(0.4)
    step.begin(1, 0, 0.5)
    assert step.optimizer.param_groups[0]["lr"] == pytest.approx(expected)


def test_nesterov_and_decay_are_those_of_torch():
    settings = SgdSettings(0.1, 0.9, True, 0.01)
    step = linear_step(settings)
    plain = copy.deepcopy(step.student)
    optimizer = torch.optim.SGD(
        plain.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01
    )
    x, target = torch.randn(4, 3), torch.randn(4, 2)
    for _ in range(3):
        step.run(x, target)
        optimizer.zero_grad()
        nn.functional.mse_loss(plain(x), target).backward()
        optimizer.step()
    torch.testing.assert_close(step.student.state_dict(), plain.state_dict())


def test_goes_on_from_a_checkpoint_as_if_it_had_not_stopped():
    settings = SgdSettings(0.1, 0.9)
    x, target = torch.randn(4, 3), torch.randn(4, 2)
    through, stopped = linear_step(settings), linear_step(settings)
    for number in range(4):
        through.run(x, target, 0, number)
        if number < 2:
            stopped.run(x, target, 0, number)
    resumed = linear_step(settings)
    resumed.load_state_dict(copy.deepcopy(stopped.state_dict()))
    for number in (2, 3):
        resumed.run(x, target, 0, number)
    assert torch.equal(resumed.student.weight, through.student.weight)


def test_a_student_without_anything_to_train_is_refused():
    student = nn.Linear(3, 2).requires_grad_(False)
    with pytest.raises(InputError, match=r"block 4 \(odd\).*no parameter to train$"):
        StudentStep(BlockPair(nn.Linear(3, 2), student, name="odd"), 4, SgdSettings(1), Alone(), 4)


def test_students_of_mixed_dtypes_are_refused():
    student = nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2).double())
    with pytest.raises(InputError, match=r"block 4 \(odd\).*differ in dtype"):
        StudentStep(BlockPair(nn.Linear(3, 2), student, name="odd"), 4, SgdSettings(1), Alone(), 4)
