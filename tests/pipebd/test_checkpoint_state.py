"""States as bytes and back, and which rank keeps what."""

from __future__ import annotations

import math

import pytest
import torch
from torch import nn

from hpc.pipebd.checkpoint_run import parts_of, writer_of
from hpc.pipebd.checkpoint_state import digest_of
from hpc.pipebd.flat_state import FlatState, state_of
from hpc.pipebd.schedule import Group


def there_and_back(state):
    flat = FlatState()
    flat.copy(state)
    (_, data), (_, tree) = flat.arrays("x")
    return state_of(data.copy(), tree.copy())


def test_every_kind_of_value():
    tensors = [
        torch.arange(5, dtype=torch.int64),
        torch.tensor(3.5),
        torch.randn(2, 3, 4, dtype=torch.float64).transpose(0, 2),
        torch.randn(7).bfloat16(),
        torch.tensor([True, False]),
        torch.empty(0, 4),
    ]
    state = {"a": tensors, 3: {"none": None, "lr": 0.1, "betas": (0.0, 0.999), "text": "x"}}
    found = there_and_back(state)
    for ours, theirs in zip(found["a"], tensors, strict=True):
        assert ours.dtype == theirs.dtype and torch.equal(ours, theirs)
    assert found[3] == state[3] and isinstance(found[3]["betas"], tuple)
    assert math.isnan(there_and_back({"loss": math.nan})["loss"])
    assert there_and_back({}) == {}


def test_a_copy_does_not_change_with_the_state_and_room_is_kept():
    state = {"a": torch.ones(3), "b": torch.zeros(2)}
    flat = FlatState()
    flat.copy(state)
    room = next(iter(flat.arrays("x")))[1]
    state["a"] += 1
    (_, data), (_, tree) = flat.arrays("x")
    assert state_of(data, tree)["a"].tolist() == [1, 1, 1]
    flat.copy(state)
    again = next(iter(flat.arrays("x")))[1]
    assert again.ctypes.data == room.ctypes.data
    assert state_of(again, tree)["a"].tolist() == [2, 2, 2]


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.Adam])
def test_optimizers_go_on_with_the_same_bits(make):
    """One parameter has had no gradient yet, so the optimizer knows nothing of it."""
    torch.manual_seed(0)
    options = {"lr": 0.1, **({"momentum": 0.9} if make is torch.optim.SGD else {})}
    results = []
    for stop in (False, True):
        torch.manual_seed(1)
        model = nn.ParameterList([torch.randn(4), torch.randn(3)])
        optimizer = make(model.parameters(), **options)
        for step in range(6):
            if stop and step == 3:
                kept = there_and_back({"m": model.state_dict(), "o": optimizer.state_dict()})
                model = nn.ParameterList([torch.zeros(4), torch.zeros(3)])
                optimizer = make(model.parameters(), **options)
                model.load_state_dict(kept["m"])
                optimizer.load_state_dict(kept["o"])
            for parameter in [model[0]] if step < 4 else list(model):
                parameter.grad = torch.sin(parameter.detach() * (step + 1))
            optimizer.step()
        results.append([parameter.detach() for parameter in model])
    for ours, theirs in zip(*results, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("size", range(1, 6))
@pytest.mark.parametrize("before", range(1, 6))
def test_every_part_is_taken_over_once(size, before):
    group = Group(range(2, 9), range(1, 1 + before))
    taken = [part for place in range(size) for part in parts_of(group, place, size)]
    assert sorted(taken) == list(group.ranks)
    if size == before:
        assert [list(parts_of(group, place, size)) for place in range(size)] == [
            [rank] for rank in group.ranks
        ]
    writers = [writer_of(group, block) for block in group.blocks]
    assert set(writers) <= set(group.ranks)
    assert max(map(writers.count, writers)) <= -(-len(group.blocks) // before)


def test_a_digest_knows_names_and_values():
    torch.manual_seed(0)
    one, other = nn.Linear(2, 3), nn.Linear(2, 3)
    assert digest_of([one]) == digest_of([one]) != digest_of([other])
    assert digest_of([one, other]) != digest_of([other, one])
    assert digest_of([nn.BatchNorm1d(2)]) != digest_of([nn.BatchNorm1d(2), nn.BatchNorm1d(2)])
