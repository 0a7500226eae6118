"""What a training keeps: it comes back on other ranks under other plans, row by row."""

from __future__ import annotations

import numpy as np
import pytest

from hpc.io.checkpoint import Index, write_index, write_part
from hpc.io.errors import FormatError
from hpc.io.shard import build_shards
from hpc.spdnn.checkpoint_state import TrainingState
from hpc.spdnn.file_order import file_order
from hpc.spdnn.optimizers import optimizer
from hpc.spdnn.parameters import LayerParameters
from hpc.spdnn.position import Epoch, Position, position_of
from hpc.spdnn.row_order import reorder
from tests.spdnn.serial import random_layers, random_plan

SIZES = (9, 14, 11, 5)


def states(parts, seed, layers, rule_name="adam", ordered=True):
    """Return the state of every rank of a random plan, as training begins."""
    shards = build_shards(layers, random_plan(SIZES, parts, seed), range(parts))
    found = []
    for rank, shard in enumerate(shards):
        if ordered:
            reorder(shard)
        parameters = [LayerParameters(layer, shard.dtype) for layer in shard.layers]
        rule = optimizer(rule_name, 0.1)
        state = TrainingState(rank, file_order(shard), parameters, rule, Position())
        found.append((state, parameters, rule))
    return found


def trained(found, steps=2):
    """Change everything by gradients that depend on nothing but the value."""
    for _, parameters, rule in found:
        for _ in range(steps):
            rule.begin_step()
            for k, layer in enumerate(parameters):
                rule.update(f"{k}/weights", layer.values, np.sin(layer.values))
                rule.update(f"{k}/bias", layer.bias, np.cos(layer.bias))
    return found


def stored(folder, found):
    files = []
    for part, (state, _, _) in enumerate(found):
        state.copy()
        files.append(write_part(folder, part, state.arrays()))
    numbers, arrays = found[0][0].position()
    index = Index(folder, 2, {}, numbers, arrays, tuple(files))
    write_index(index)
    return index


@pytest.mark.parametrize("rule", ["sgd", "momentum", "adam"])
@pytest.mark.parametrize(("before", "after"), [(3, 3), (1, 4), (4, 1), (3, 2)])
def test_other_ranks_and_plans(tmp_path, rule, before, after):
    """After one more step on both sides all numbers are the same bits, slots included."""
    layers = random_layers(SIZES, 0.3, 5, np.float32)
    index = stored(tmp_path / "c", trained(states(before, 1, layers, rule)))
    loaded = states(after, 2, layers, rule, ordered=False)
    for rank, (state, _, _) in enumerate(loaded):
        state.load(index, rank)
    expected = trained(states(after, 2, layers, rule, ordered=False), 3)
    for (_, ours, one), (_, theirs, other) in zip(trained(loaded, 1), expected, strict=True):
        assert one.step == other.step
        for mine, layer in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(mine.values, layer.values)
            np.testing.assert_array_equal(mine.bias, layer.bias)


def test_rows_that_are_nowhere(tmp_path):
    layers = random_layers(SIZES, 0.3, 5, np.float32)
    index = stored(tmp_path / "c", states(3, 1, layers))
    fewer = Index(index.folder, 0, {}, index.position, index.arrays, index.parts[:2])
    with pytest.raises(FormatError, match="rows of this rank are in no part"):
        states(1, 2, layers)[0][0].load(fewer, 0)


def test_rows_of_other_lengths(tmp_path):
    index = stored(tmp_path / "c", states(1, 1, random_layers(SIZES, 0.3, 5, np.float32)))
    with pytest.raises(FormatError, match="of other lengths"):
        states(1, 2, random_layers(SIZES, 0.5, 6, np.float32))[0][0].load(index, 0)


def test_positions():
    epochs = [Epoch(1, 0.5, 0.25, None, None, 3.0), Epoch(2, 1 / 3, 0.5, 0.75, 1.0, 4.0)]
    position = Position(17, 2, 3, 0.1 + 0.2, 4, 5.5, epochs)
    numbers, arrays = position.kept()
    assert position_of(17, numbers, arrays) == position
    assert position_of(0, *Position().kept()) == Position()
