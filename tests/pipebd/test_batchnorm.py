"""Group batch norm against nn.BatchNorm on the whole batch, for any split of the batch."""

from __future__ import annotations

import copy
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from hpc.pipebd.batchnorm import GroupBatchNorm, convert_batchnorm, group_moments
from hpc.pipebd.reducer import Alone
from tests.pipebd.thread_group import run_group

BATCH = 9
TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-12}

splits = st.sets(st.integers(1, BATCH - 1), max_size=4).map(lambda cuts: [0, *sorted(cuts), BATCH])


def layer_for(dims: int, dtype: torch.dtype, **options: object) -> nn.Module:
    layer = (nn.BatchNorm2d if dims == 4 else nn.BatchNorm1d)(3, dtype=dtype, **options)
    if layer.affine:
        nn.init.uniform_(layer.weight, 0.5, 2)
        nn.init.normal_(layer.bias)
    return layer


def train_once(layer: nn.Module, x: torch.Tensor, grad: torch.Tensor) -> dict[str, torch.Tensor]:
    x = x.clone().requires_grad_()
    y = layer(x)
    y.backward(grad)
    found = {"y": y.detach(), "grad_x": x.grad, **layer.state_dict()}
    found.update({f"grad_{name}": p.grad for name, p in layer.named_parameters()})
    return found


def in_group(layer: nn.Module, x: torch.Tensor, grad: torch.Tensor, bounds: list[int]) -> dict:
    ranges = list(pairwise(bounds))

    def share(reducer):
        start, stop = ranges[reducer.rank]
        mine = convert_batchnorm(copy.deepcopy(layer), reducer)
        return train_once(mine, x[start:stop], grad[start:stop])

    results = run_group(len(ranges), share)
    merged = dict(results[0])
    for name in ("y", "grad_x"):
        merged[name] = torch.cat([result[name] for result in results])
    for name in ("grad_weight", "grad_bias"):
        if name in merged:
            merged[name] = torch.stack([result[name] for result in results]).sum(0)
    for result in results[1:]:
        for name in layer.state_dict():
            assert torch.equal(result[name], merged[name]), name
    return merged


def assert_equal_to_whole(layer, x, grad, bounds):
    expected = train_once(copy.deepcopy(layer), x, grad)
    found = in_group(layer, x, grad, bounds)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        scale = max(1.0, float(value.abs().max()))
        error = float((found[name] - value).abs().max()) / scale
        assert error <= TOLERANCE[x.dtype], (name, error)


@given(splits, st.sampled_from([(BATCH, 3, 4, 5), (BATCH, 3), (BATCH, 3, 6)]), st.booleans())
@settings(max_examples=25, deadline=None)
def test_equals_the_whole_batch_under_any_split(bounds, shape, double):
    dtype = torch.float64 if double else torch.float32
    torch.manual_seed(len(bounds))
    x = torch.randn(shape, dtype=dtype) * 2 + 1
    assert_equal_to_whole(layer_for(len(shape), dtype), x, torch.randn(shape, dtype=dtype), bounds)


@pytest.mark.parametrize("options", [{"momentum": None}, {"affine": False}, {"eps": 1e-3}])
def test_options_of_the_layer(options):
    torch.manual_seed(0)
    x, grad = torch.randn(2, BATCH, 3, 4, 4, dtype=torch.float64)
    assert_equal_to_whole(layer_for(4, torch.float64, **options), x, grad, [0, 2, BATCH])


def test_layer_without_running_statistics():
    torch.manual_seed(0)
    x, grad = torch.randn(2, BATCH, 3, 4, 4, dtype=torch.float64)
    layer = layer_for(4, torch.float64, track_running_stats=False)
    assert_equal_to_whole(layer, x, grad, [0, 4, BATCH])
    assert_equal_to_whole(layer.eval(), x, grad, [0, 4, BATCH])


def test_moments_survive_a_mean_far_above_the_spread():
    """E[x²] − E[x]² in float32 would give a variance wrong by far more than its size here."""
    torch.manual_seed(0)
    x = torch.randn(BATCH, 3, 5, 5) + 3000
    variance, mean = torch.var_mean(x.double(), dim=(0, 2, 3), correction=0)
    for count, mine, spread in run_group(
        3, lambda reducer: group_moments(x[3 * reducer.rank : 3 * reducer.rank + 3], reducer)
    ):
        assert int(count) == BATCH * 25
        torch.testing.assert_close(mine, mean, rtol=1e-7, atol=0)
        torch.testing.assert_close(spread, variance, rtol=1e-4, atol=0)


def test_gradcheck_over_a_group():
    """Numerical gradients of a loss over both shares, through both ranks' graphs."""
    torch.manual_seed(0)
    x, weight = torch.randn(2, 5, 3, 2, dtype=torch.float64)
    layer = layer_for(3, torch.float64)

    def loss_of(values: torch.Tensor, with_grad: bool) -> tuple[float, torch.Tensor]:
        def share(reducer):
            rows = slice(0, 2) if reducer.rank == 0 else slice(2, 5)
            mine = values[rows].clone().requires_grad_(with_grad)
            y = convert_batchnorm(copy.deepcopy(layer), reducer)(mine)
            loss = (weight[rows] * y.sin()).sum()
            if with_grad:
                loss.backward()
            return float(loss.detach()), mine.grad

        (a, grad_a), (b, grad_b) = run_group(2, share)
        return a + b, torch.cat([grad_a, grad_b]) if with_grad else torch.empty(0)

    _, grad = loss_of(x, True)
    for at in [(0, 0, 0), (1, 2, 1), (4, 1, 0), (3, 0, 1)]:
        step = torch.zeros_like(x)
        step[at] = 1e-5
        numerical = (loss_of(x + step, False)[0] - loss_of(x - step, False)[0]) / 2e-5
        assert abs(numerical - float(grad[at])) < 1e-8 * max(1, abs(numerical))


def test_eval_mode_uses_running_statistics_and_no_reduction():
    layer = layer_for(4, torch.float32)
    layer.running_mean.fill_(0.5)
    x = torch.randn(4, 3, 2, 2)

    def share(reducer):
        mine = convert_batchnorm(copy.deepcopy(layer), reducer).eval()
        return mine(x), reducer.calls

    for y, calls in run_group(2, share):
        assert torch.equal(y, layer.eval()(x))
        assert calls == 0


def test_one_reduction_forward_and_one_backward():
    layer = layer_for(4, torch.float32)

    x = torch.ones(2, 3, 1, 1)

    def calls(reducer):
        mine = convert_batchnorm(copy.deepcopy(layer), reducer)
        mine(x.clone().requires_grad_()).sum().backward()
        return reducer.calls

    assert run_group(2, calls) == [2, 2]


def test_convert_keeps_parameters_and_keys_and_reaches_nested_layers():
    model = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Sequential(nn.BatchNorm2d(4), nn.ReLU()))
    keys, weight = list(model.state_dict()), model[1][0].weight
    first, second = Alone(), Alone()
    assert convert_batchnorm(model, first) is model
    assert isinstance(model[1][0], GroupBatchNorm)
    assert model[1][0].weight is weight
    assert list(model.state_dict()) == keys
    assert convert_batchnorm(model, second)[1][0].reducer is second
